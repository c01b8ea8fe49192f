import type { OverlapPolicy, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { changeWork, cronPreviewQuery } from '../../api/workers.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { toastDone } from '../../components/toast.tsx'
import { useDebounced } from '../../components/use-debounced.ts'
import { errorsAt } from '../../lib/field-errors.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { ProgramFields } from './program-fields.tsx'
import { RuntimeField } from './runtime-field.tsx'
import { timeIn } from './time-in.ts'

const t = texts.workers

export interface CronDraft {
  readonly isNew: boolean
  readonly name: string
  readonly schedule: string
  readonly timezone: string
  readonly command: string
  readonly timeLimit: string
  readonly overlap: OverlapPolicy
  readonly runtime: string | null
}

export function newCron(timezone: string): CronDraft {
  const times = { schedule: '0 3 * * *', timezone, timeLimit: '1h', overlap: 'skip' } as const
  return { isNew: true, name: '', command: '', runtime: null, ...times }
}

/** The contract's list, which the texts are held against. */
const policies = Object.keys(t.overlaps) as OverlapPolicy[]
const shownAtFields = ['', '/schedule', '/timezone', '/command', '/timeLimit', '/overlap', '/runtime']

interface CronFormProps {
  project: ProjectView
  draft: CronDraft
  onClose: () => void
}

export function CronForm({ project, draft, onClose }: CronFormProps) {
  const [fields, setFields] = useState(draft)
  const set = (changed: Partial<CronDraft>) => setFields({ ...fields, ...changed })
  const { busy, error, problem, run } = useSubmit()
  const { name, schedule, timezone, command, timeLimit, overlap, runtime } = fields
  const errorOf = (field: string) => errorsAt(problem?.errors, `/cron/${name}${field}`)
  const submit = () =>
    run(async () => {
      const job = { schedule, timezone, command, timeLimit, overlap, runtime }
      await changeWork(project.id, { cron: { [name]: job } })
      toastDone(t.saved)
      onClose()
    })
  return (
    <Form onSubmit={submit}>
      <ProgramFields program={fields} onChange={set} at={`/cron/${name}`} errors={problem?.errors} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label={t.schedule}
          help={t.scheduleHelp}
          required
          mono
          value={schedule}
          onChange={(event) => set({ schedule: event.target.value })}
          error={errorOf('/schedule')}
        />
        <TextField
          label={t.timezone}
          required
          value={timezone}
          onChange={(event) => set({ timezone: event.target.value })}
          error={errorOf('/timezone')}
        />
      </div>
      <NextTimes schedule={schedule} timezone={timezone} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label={t.timeLimit}
          help={t.timeLimitHelp}
          required
          mono
          value={timeLimit}
          onChange={(event) => set({ timeLimit: event.target.value })}
          error={errorOf('/timeLimit')}
        />
        <SelectField
          label={t.overlap}
          value={overlap}
          onChange={(event) => set({ overlap: event.target.value as OverlapPolicy })}
          error={errorOf('/overlap')}
        >
          {policies.map((policy) => (
            <option key={policy} value={policy}>
              {t.overlaps[policy]}
            </option>
          ))}
        </SelectField>
        <RuntimeField
          project={project}
          value={runtime}
          onChange={(value) => set({ runtime: value })}
          error={errorOf('/runtime')}
        />
      </div>
      {error !== null && <ErrorNote error={error} hideErrors={shownAtFields.map((field) => `/cron/${name}${field}`)} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {texts.common.save}
        </Button>
      </DialogActions>
    </Form>
  )
}

/** What the schedule means, on the clock of its time zone. What is wrong with it is said when it is saved. */
function NextTimes({ schedule, timezone }: Pick<CronDraft, 'schedule' | 'timezone'>) {
  const [asked, zone] = [useDebounced(schedule, 300), useDebounced(timezone, 300)]
  const query = useQuery({ ...cronPreviewQuery(asked, zone), enabled: asked !== '' && zone !== '' })
  return (
    <div className="rounded-md border border-line bg-sunken px-3 py-2 text-sm" aria-live="polite">
      <p className="font-medium">{t.nextTimes}</p>
      {query.data === undefined ? (
        <p className="text-ink-3">{query.isError ? query.error.message : texts.common.loading}</p>
      ) : (
        <ol className="numbers text-ink-2">
          {query.data.map((time) => (
            <li key={time}>{timeIn(time, zone)}</li>
          ))}
        </ol>
      )}
    </div>
  )
}
