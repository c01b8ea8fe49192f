import type { NotificationChannel, NotificationEvent, NotificationKind, QuietHours } from '@stackquay/contract'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Check, SelectField, Switch, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { toastDone } from '../../components/toast.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { changesOf } from '../../lib/settings-changes.ts'
import { fieldsOf, type JsonSchema } from '../../lib/settings-fields.ts'
import { ProjectsChoice } from '../../modules/projects-choice.tsx'
import { SettingsForm, type SettingsValue } from '../../modules/settings-form.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.notifications
const offered = Object.keys(t.eventNames) as NotificationEvent[]

interface ChannelFormProps {
  /** The one to change; null for a new one. */
  channel: NotificationChannel | null
  kinds: readonly NotificationKind[]
  onClose: () => void
  onDone: () => void
}

export function ChannelForm({ channel, kinds, onClose, onDone }: ChannelFormProps) {
  const [name, setName] = useState(channel?.name ?? '')
  const [kind, setKind] = useState(channel?.kind ?? kinds[0]?.name ?? '')
  const schema = (kinds.find((one) => one.name === kind)?.settingsSchema ?? {}) as JsonSchema
  const [settings, setSettings] = useState<SettingsValue>(channel?.settings ?? defaultsOf(schema))
  const [events, setEvents] = useState<readonly string[]>(channel?.events ?? offered)
  const [extent, setExtent] = useState<'all' | 'some'>((channel?.projects.length ?? 0) > 0 ? 'some' : 'all')
  const [chosen, setChosen] = useState<readonly string[]>(channel?.projects ?? [])
  const [cooldown, setCooldown] = useState(String(channel?.cooldownMinutes ?? 30))
  const [quiet, setQuiet] = useState<QuietHours | null>(channel?.quietHours ?? null)
  const [tried, setTried] = useState(false)
  const { busy, error, problem, clear, run } = useSubmit()
  const noneChosen = extent === 'some' && chosen.length === 0
  const fields = fieldsOf(schema)

  const submit = async () => {
    setTried(true)
    if (events.length === 0 || noneChosen) return
    const rules = {
      events: events as NotificationEvent[],
      projects: extent === 'all' ? [] : [...chosen],
      quietHours: quiet,
      cooldownMinutes: Number(cooldown),
    }
    await run(async () => {
      if (channel === null) {
        await client.call('createNotificationChannel', { body: { name, kind, settings: { ...settings }, ...rules } })
        toastDone(t.added(name))
      } else {
        const changed = changesOf(channel.settings, settings)
        const body = { name, ...rules, ...(changed === null ? {} : { settings: changed }) }
        await client.call('updateNotificationChannel', { params: { channel: channel.id }, body })
      }
      onDone()
    })
  }
  return (
    <Form onSubmit={submit}>
      <div className="grid items-start gap-x-6 gap-y-4 sm:grid-cols-2">
        <TextField
          label={t.name}
          required
          autoFocus
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={errorsAt(problem?.errors, '/name')}
        />
        {channel === null && (
          <SelectField
            label={t.kind}
            value={kind}
            onChange={(event) => {
              clear()
              setKind(event.target.value)
              const next = kinds.find((one) => one.name === event.target.value)
              setSettings(defaultsOf((next?.settingsSchema ?? {}) as JsonSchema))
            }}
          >
            {kinds.map((one) => (
              <option key={one.name} value={one.name}>
                {one.label}
              </option>
            ))}
          </SelectField>
        )}
      </div>
      <SettingsForm fields={fields} value={settings} onChange={setSettings} pointer="/settings" errors={problem?.errors} />
      <EventChoice chosen={events} onChange={setEvents} missing={tried && events.length === 0} />
      <ProjectsChoice
        label={t.projects}
        all={t.allProjects}
        some={t.someProjects}
        extent={extent}
        onExtent={setExtent}
        chosen={chosen}
        onChosen={setChosen}
        error={tried && noneChosen ? t.chooseProject : null}
      />
      <TextField
        label={t.cooldown}
        help={t.cooldownHelp}
        required
        type="number"
        min={1}
        max={1440}
        value={cooldown}
        onChange={(event) => setCooldown(event.target.value)}
        error={errorsAt(problem?.errors, '/cooldownMinutes')}
      />
      <QuietChoice quiet={quiet} onChange={setQuiet} errorOf={(field) => errorsAt(problem?.errors, `/quietHours/${field}`)} />
      {problem !== null && <ErrorNote error={error} hideErrors={shownPointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {channel === null ? t.submit : t.save}
        </Button>
      </DialogActions>
    </Form>
  )
}

const shownPointers = ['/name', '/settings', '/cooldownMinutes', '/quietHours']

function defaultsOf({ properties = {} }: JsonSchema): SettingsValue {
  const given = Object.entries(properties).filter(([, { default: value }]) => value !== undefined && value !== null)
  return Object.fromEntries(given.map(([key, property]) => [key, property.default]))
}

interface EventChoiceProps {
  chosen: readonly string[]
  onChange: (chosen: readonly string[]) => void
  /** None is chosen, and the form was sent. */
  missing: boolean
}

function EventChoice({ chosen, onChange, missing }: EventChoiceProps) {
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1 text-sm font-medium">{t.events}</legend>
      <div className="grid gap-x-6 gap-y-1.5 sm:grid-cols-2">
        {offered.map((event) => (
          <Check
            key={event}
            label={t.eventNames[event]}
            checked={chosen.includes(event)}
            onChange={(checked) => onChange(checked ? [...chosen, event] : chosen.filter((other) => other !== event))}
          />
        ))}
      </div>
      {missing && <p className="text-sm text-bad">{t.chooseEvent}</p>}
    </fieldset>
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
