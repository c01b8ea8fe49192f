import type { BackupRetention, BackupScheduleView, FieldError, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { targetsQuery } from '../../api/backup-targets.ts'
import { putBackupSchedule } from '../../api/backups.ts'
import { Button } from '../../components/button.tsx'
import { Choices } from '../../components/choices.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Check, SelectField, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { toastDone } from '../../components/toast.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { timeZoneHere, usualTimes } from '../../lib/usual-times.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.backups.schedule

type Settings = Pick<BackupScheduleView, 'cron' | 'timezone' | 'keep' | 'verify' | 'targets' | 'keepOnTargets'>

const own = 'own'
const rules = ['last', 'daily', 'weekly', 'monthly'] as const
/** The contract's limit. */
const mostTargets = 5
const policies = ['always', 'weekly', 'never'] as const
const pointers = ['/cron', '/timezone', ...rules.flatMap((rule) => [`/keep/${rule}`, `/keepOnTargets/${rule}`])]

interface ScheduleFormProps {
  /** Null: the instance itself, of which nothing is verified. */
  project: ProjectView | null
  schedule: BackupScheduleView | null
  onClose: () => void
}

export function ScheduleForm({ project, schedule, onClose }: ScheduleFormProps) {
  const [settings, setSettings] = useState<Settings>(() => schedule ?? suggested())
  const set = (changed: Partial<Settings>) => setSettings({ ...settings, ...changed })
  const { busy, error, problem, run } = useSubmit()
  const fields = { settings, set, errors: problem?.errors }
  const submit = () =>
    run(async () => {
      const { cron, timezone, keep, verify, targets, keepOnTargets } = settings
      await putBackupSchedule(project?.id ?? null, { cron, timezone, keep, verify, targets, keepOnTargets })
      toastDone(t.saved)
      onClose()
    })
  return (
    <Form onSubmit={submit}>
      <TimeFields {...fields} />
      <KeepFields
        label={t.keep}
        help={t.keepHelp}
        at="/keep"
        keep={settings.keep}
        onChange={(keep) => set({ keep })}
        errors={fields.errors}
      />
      {project !== null && (
        <Choices
          label={t.verify}
          value={settings.verify}
          onChange={(verify) => set({ verify })}
          options={policies.map((value) => ({ value, label: t.policies[value], help: t.policyHelp[value] }))}
        />
      )}
      <TargetFields {...fields} />
      <TargetKeepFields {...fields} />
      {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {texts.common.save}
        </Button>
      </DialogActions>
    </Form>
  )
}

function suggested(): Settings {
  return {
    cron: usualTimes[0]!,
    timezone: timeZoneHere(),
    keep: usualKeep,
    verify: 'weekly',
    targets: [],
    keepOnTargets: null,
  }
}

const usualKeep: BackupRetention = { last: 7, daily: 7, weekly: 4, monthly: 6 }

interface FieldsProps {
  settings: Settings
  set: (changed: Partial<Settings>) => void
  errors: readonly FieldError[] | undefined
}

function TimeFields({ settings: { cron, timezone }, set, errors }: FieldsProps) {
  const [isOwn, setIsOwn] = useState(!usualTimes.includes(cron))
  const choose = (value: string) => {
    setIsOwn(value === own)
    if (value !== own) set({ cron: value })
  }
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField label={t.when} value={isOwn ? own : cron} onChange={(event) => choose(event.target.value)}>
          {usualTimes.map((value, index) => (
            <option key={value} value={value}>
              {t.usual[index]}
            </option>
          ))}
          <option value={own}>{t.own}</option>
        </SelectField>
        <TextField
          label={t.timezone}
          required
          value={timezone}
          onChange={(event) => set({ timezone: event.target.value })}
          error={errorsAt(errors, '/timezone')}
        />
      </div>
      {isOwn && (
        <TextField
          label={t.cron}
          help={t.cronHelp}
          mono
          required
          value={cron}
          onChange={(event) => set({ cron: event.target.value })}
          error={errorsAt(errors, '/cron')}
        />
      )}
    </>
  )
}

interface KeepFieldsProps extends Pick<FieldsProps, 'errors'> {
  label: string
  help: string
  /** Pointer of the field. */
  at: string
  keep: BackupRetention
  onChange: (keep: BackupRetention) => void
}

function KeepFields({ label, help, at, keep, onChange, errors }: KeepFieldsProps) {
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium">{label}</legend>
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">
        {rules.map((rule) => (
          <TextField
            key={rule}
            label={t.rules[rule]}
            type="number"
            inputMode="numeric"
            min={rule === 'last' ? 1 : 0}
            max={1000}
            required
            value={Number.isNaN(keep[rule]) ? '' : keep[rule]}
            onChange={(event) => onChange({ ...keep, [rule]: event.target.valueAsNumber })}
            error={errorsAt(errors, `${at}/${rule}`)}
          />
        ))}
      </div>
      <p className="mt-1 text-sm text-ink-3">{help}</p>
    </fieldset>
  )
}

/** Off unless it is wanted; not there while nothing is copied. */
function TargetKeepFields({ settings: { targets, keepOnTargets }, set, errors }: FieldsProps) {
  if (targets.length === 0 && keepOnTargets === null) return null
  return (
    <>
      <Check
        label={t.keepOnTargets}
        checked={keepOnTargets !== null}
        onChange={(chosen) => set({ keepOnTargets: chosen ? usualKeep : null })}
      />
      {keepOnTargets !== null && (
        <KeepFields
          label={t.keepThere}
          help={t.keepThereHelp}
          at="/keepOnTargets"
          keep={keepOnTargets}
          onChange={(keep) => set({ keepOnTargets: keep })}
          errors={errors}
        />
      )}
    </>
  )
}

/** Not there while there is no target to choose. */
function TargetFields({ settings: { targets }, set }: FieldsProps) {
  const offered = useQuery(targetsQuery).data ?? []
  if (offered.length === 0) return null
  const toggle = (id: string, chosen: boolean) =>
    set({ targets: chosen ? [...targets, id] : targets.filter((one) => one !== id) })
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">{t.targets}</legend>
      <div className="flex flex-wrap gap-x-5 gap-y-2">
        {offered.map(({ id, name }) => (
          <Check
            key={id}
            label={name}
            checked={targets.includes(id)}
            disabled={targets.length >= mostTargets && !targets.includes(id)}
            onChange={(chosen) => toggle(id, chosen)}
          />
        ))}
      </div>
      <p className="mt-1 text-sm text-ink-3">{t.targetsHelp}</p>
    </fieldset>
  )
}
