import type { FieldError, NotificationChannel, NotificationEvent, QuietHours } from '@stackquay/contract'
import { Switch, TextField } from '../../components/field.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { EventChoice } from '../../modules/event-choice.tsx'
import { ProjectsChoice } from '../../modules/projects-choice.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.notifications
const offered = Object.keys(t.eventNames) as NotificationEvent[]

/** What is told by a channel, and how often, as it is typed. */
export interface Rules {
  readonly events: readonly string[]
  readonly extent: 'all' | 'some'
  readonly projects: readonly string[]
  readonly cooldown: string
  readonly quiet: QuietHours | null
}

export function rulesOf(channel: NotificationChannel | null): Rules {
  return {
    events: channel?.events ?? offered,
    extent: (channel?.projects.length ?? 0) > 0 ? 'some' : 'all',
    projects: channel?.projects ?? [],
    cooldown: String(channel?.cooldownMinutes ?? 30),
    quiet: channel?.quietHours ?? null,
  }
}

export function isIncomplete({ events, extent, projects }: Rules): boolean {
  return events.length === 0 || (extent === 'some' && projects.length === 0)
}

export function bodyOf({ events, extent, projects, cooldown, quiet }: Rules) {
  return {
    events: events as NotificationEvent[],
    projects: extent === 'all' ? [] : [...projects],
    quietHours: quiet,
    cooldownMinutes: Number(cooldown),
  }
}

interface RuleFieldsProps {
  rules: Rules
  onChange: (rules: Rules) => void
  /** The form was sent. */
  tried: boolean
  errors: readonly FieldError[] | undefined
}

export function RuleFields({ rules, onChange, tried, errors }: RuleFieldsProps) {
  const set = (change: Partial<Rules>) => onChange({ ...rules, ...change })
  const { events, extent, projects, cooldown, quiet } = rules
  return (
    <>
      <EventChoice
        t={t}
        offered={offered}
        chosen={events}
        onChange={(next) => set({ events: next })}
        missing={tried && events.length === 0}
      />
      <ProjectsChoice
        label={t.projects}
        all={t.allProjects}
        some={t.someProjects}
        extent={extent}
        onExtent={(next) => set({ extent: next })}
        chosen={projects}
        onChosen={(next) => set({ projects: next })}
        error={tried && extent === 'some' && projects.length === 0 ? t.chooseProject : null}
      />
      <TextField
        label={t.cooldown}
        help={t.cooldownHelp}
        required
        type="number"
        min={1}
        max={1440}
        value={cooldown}
        onChange={(event) => set({ cooldown: event.target.value })}
        error={errorsAt(errors, '/cooldownMinutes')}
      />
      <QuietChoice
        quiet={quiet}
        onChange={(next) => set({ quiet: next })}
        errorOf={(field) => errorsAt(errors, `/quietHours/${field}`)}
      />
    </>
  )
}

interface QuietChoiceProps {
  quiet: QuietHours | null
  onChange: (quiet: QuietHours | null) => void
  errorOf: (field: string) => string | null
}

function QuietChoice({ quiet, onChange, errorOf }: QuietChoiceProps) {
  const { timeZone: timezone } = Intl.DateTimeFormat().resolvedOptions()
  return (
    <div className="flex flex-col gap-3">
      <Switch
        label={t.quiet}
        help={t.quietHelp}
        checked={quiet !== null}
        onChange={(on) => onChange(on ? { from: '22:00', to: '07:00', timezone } : null)}
      />
      {quiet !== null && (
        <div className="grid gap-x-6 gap-y-4 sm:grid-cols-3">
          {(['from', 'to'] as const).map((field) => (
            <TextField
              key={field}
              label={field === 'from' ? t.quietFrom : t.quietTo}
              type="time"
              required
              value={quiet[field]}
              onChange={(event) => onChange({ ...quiet, [field]: event.target.value })}
              error={errorOf(field)}
            />
          ))}
          <TextField
            label={t.timezone}
            required
            value={quiet.timezone}
            onChange={(event) => onChange({ ...quiet, timezone: event.target.value })}
            error={errorOf('timezone')}
          />
        </div>
      )}
    </div>
  )
}
