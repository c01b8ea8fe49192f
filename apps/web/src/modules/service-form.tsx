import type { ProjectView } from '@stackquay/contract'
import { useState } from 'react'
import { planUpdate, updateProject } from '../api/changes.ts'
import { problemFrom } from '../api/client.ts'
import { Button } from '../components/button.tsx'
import { DialogActions } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { Form } from '../components/form.tsx'
import { toastDone } from '../components/toast.tsx'
import { changesOf } from '../lib/settings-changes.ts'
import { texts } from '../texts/index.ts'
import { PlanView } from './plan-view.tsx'
import { engineReason } from './project-actions.ts'
import { patchOf, pointerOf, type ServiceType, serviceSettings, settingsOf } from './service-type.ts'
import { SettingsForm, type SettingsValue } from './settings-form.tsx'
import { usePlan } from './use-plan.ts'
import { useSubmit } from './use-submit.ts'
import { versionChoices } from './version-choices.ts'

const t = texts.services

/** Adds, enables again or changes a service: its settings, and the plan of what they do before they are applied. */
export function ServiceForm({
  project,
  type,
  onClose,
}: {
  project: ProjectView
  type: ServiceType
  onClose: () => void
}) {
  // As it was when the form opened: what happens elsewhere meanwhile must not look like a change made here.
  const [stored] = useState(() => serviceSettings(project, type))
  const usual = type.versions.find((version) => version.default)?.version
  const [form, setForm] = useState<SettingsValue>(() => stored ?? (usual === undefined ? {} : { version: usual }))
  const { busy, error, clear, run } = useSubmit()
  const enabling = stored?.enabled !== true
  const changes = changesOf(stored ?? {}, form)
  const patch =
    enabling || changes !== null ? patchOf(type, { ...changes, ...(enabling ? { enabled: true } : {}) }) : null
  const live = usePlan(['update', project.id], patch, (input, signal) => planUpdate(project.id, input, signal))
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const fields = settingsOf(type)
  const pointers = fields.map((field) => pointerOf(type, field.key))

  const submit = async () => {
    if (patch === null) return
    await run(async () => {
      const answer = await updateProject(project.id, patch)
      toastDone(answer.operation === null ? t.saved : t.changing(type.label))
      onClose()
    })
  }
  return (
    <Form onSubmit={submit}>
      {fields.length > 0 && (
        <SettingsForm
          fields={fields}
          value={form}
          onChange={(next) => {
            clear()
            setForm(next)
          }}
          pointer={pointerOf(type)}
          errors={problem?.errors}
          choices={type.versions.length > 0 ? { version: versionChoices(type.versions) } : {}}
          nullText={t.nullText}
        />
      )}
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={t.changeIdle} hideErrors={pointers} />
      </div>
      {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button
          type="submit"
          look="primary"
          busy={busy}
          disabled={live.pending || live.plan === null}
          reason={engineReason(project)}
        >
          {stored === null ? t.addSubmit(type.label) : enabling ? t.enableAgain : texts.common.apply}
        </Button>
      </DialogActions>
    </Form>
  )
}
