import type { ProjectPatch, ProjectView } from '@stackquay/contract'
import { useState } from 'react'
import { planUpdate, updateProject } from '../api/changes.ts'
import { problemFrom } from '../api/client.ts'
import { Button } from '../components/button.tsx'
import { DialogActions } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { toastDone } from '../components/toast.tsx'
import { changesOf } from '../lib/settings-draft.ts'
import { texts } from '../texts/index.ts'
import { PlanView } from './plan-view.tsx'
import { engineReason } from './project-actions.ts'
import { type ServiceKind, serviceSettings, settingsOf } from './service-kind.ts'
import { SettingsForm, type SettingsValue } from './settings-form.tsx'
import { usePlan } from './use-plan.ts'
import { versionChoices } from './version-choices.ts'

const t = texts.services

/** Adds, enables again or changes a service: its settings, and the plan of what they do before they are applied. */
export function ServiceForm({
  project,
  kind,
  onClose,
}: {
  project: ProjectView
  kind: ServiceKind
  onClose: () => void
}) {
  // As it was when the form opened: what happens elsewhere meanwhile must not look like a change made here.
  const [stored] = useState(() => serviceSettings(project, kind))
  const usual = kind.versions.find((version) => version.default)?.version
  const [draft, setDraft] = useState<SettingsValue>(() => stored ?? (usual === undefined ? {} : { version: usual }))
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const enabling = stored?.enabled !== true
  const changes = changesOf(stored ?? {}, draft)
  const patch =
    enabling || changes !== null
      ? ({ [kind.name]: { ...changes, ...(enabling ? { enabled: true } : {}) } } as ProjectPatch)
      : null
  const live = usePlan(['update', project.id], patch, (input, signal) => planUpdate(project.id, input, signal))
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const fields = settingsOf(kind)
  const pointers = fields.map((field) => `/${kind.name}/${field.key}`)

  const submit = async () => {
    if (patch === null) return
    setBusy(true)
    setError(null)
    try {
      const answer = await updateProject(project.id, patch)
      toastDone(answer.operation === null ? t.saved : t.changing(kind.label))
      onClose()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      {fields.length > 0 && (
        <SettingsForm
          fields={fields}
          value={draft}
          onChange={(next) => {
            setError(null)
            setDraft(next)
          }}
          pointer={`/${kind.name}`}
          errors={problem?.errors}
          choices={kind.versions.length > 0 ? { version: versionChoices(kind.versions) } : {}}
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
          {stored === null ? t.addSubmit(kind.label) : enabling ? t.enableAgain : texts.common.apply}
        </Button>
      </DialogActions>
    </form>
  )
}
