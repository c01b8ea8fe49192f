import type { ProjectView } from '@stackquay/contract'
import { useState } from 'react'
import { planDatabaseUpdate, updateDatabase } from '../../api/changes.ts'
import { problemFrom } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { toastDone } from '../../components/toast.tsx'
import { changesOf } from '../../lib/settings-changes.ts'
import { fieldsOf } from '../../lib/settings-fields.ts'
import { PlanView } from '../../modules/plan-view.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import type { ServiceType } from '../../modules/service-type.ts'
import { SettingsForm, type SettingsValue } from '../../modules/settings-form.tsx'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { versionChoices } from '../../modules/version-choices.ts'
import { texts } from '../../texts/index.ts'

const t = texts.databases

export function ChangeDatabase({
  project,
  name,
  database,
  type,
  onClose,
}: {
  project: ProjectView
  name: string
  database: ProjectView['databases'][string]
  type: ServiceType
  onClose: () => void
}) {
  const [stored] = useState<SettingsValue>(() => ({ ...database }))
  const [form, setForm] = useState(stored)
  const [typed, setTyped] = useState('')
  const { busy, error, clear, run } = useSubmit()
  const changes = changesOf(stored, form)
  const live = usePlan(['database', project.id, name], changes, (input, signal) =>
    planDatabaseUpdate(project.id, name, input, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const fields = fieldsOf(type.settingsSchema)
  const pointers = fields.map((field) => `/${field.key}`)
  const losesData = (live.plan?.plan.deletesData.length ?? 0) > 0

  const submit = async () => {
    if (changes === null) return
    await run(async () => {
      const answer = await updateDatabase(project.id, name, losesData ? { ...changes, removeData: true } : changes)
      toastDone(answer.operation === null ? t.saved : t.changed(name))
      onClose()
    })
  }
  return (
    <Form onSubmit={submit}>
      <SettingsForm
        fields={fields}
        value={form}
        onChange={(next) => {
          clear()
          setForm(next)
        }}
        pointer=""
        errors={problem?.errors}
        choices={{ version: versionChoices(type.versions) }}
      />
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={t.changeIdle} hideErrors={pointers} />
      </div>
      {losesData && (
        <TextField
          label={texts.common.typeToConfirm(name)}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          mono
          spellCheck={false}
        />
      )}
      {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button
          type="submit"
          look={losesData ? 'danger' : 'primary'}
          busy={busy}
          disabled={live.pending || live.plan === null || (losesData && typed !== name)}
          reason={engineReason(project)}
        >
          {texts.common.apply}
        </Button>
      </DialogActions>
    </Form>
  )
}
