import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type BackupBody, createBackup, planBackup } from '../../api/backups.ts'
import { servicesQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Check, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { toastDone } from '../../components/toast.tsx'
import { chosenParts, partsOfProject } from '../../lib/backup-parts.ts'
import { PlanView } from '../../modules/plan-view.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { PartChoice } from './part-choice.tsx'

const t = texts.backups

export function CreateBackup({ project, onClose }: { project: ProjectView; onClose: () => void }) {
  const services = useQuery(servicesQuery(project.engine)).data?.items ?? []
  const [note, setNote] = useState('')
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const [includeRebuildable, setIncludeRebuildable] = useState(false)
  const { busy, error, run } = useSubmit()
  const options = partsOfProject(project, services, t.partNames)
  const parts = chosenParts(options, left)
  const nothing = parts?.length === 0
  const body: BackupBody = {
    ...(note.trim() === '' ? {} : { note: note.trim() }),
    ...(parts === undefined ? {} : { parts: [...parts] }),
    ...(includeRebuildable ? { includeRebuildable } : {}),
  }
  const live = usePlan(['backup', project.id], nothing ? null : body, (input, signal) =>
    planBackup(project.id, input, signal),
  )
  const submit = () =>
    run(async () => {
      await createBackup(project.id, body)
      toastDone(t.creating)
      onClose()
    })
  return (
    <Form onSubmit={submit}>
      <TextField
        label={t.note}
        optional
        maxLength={200}
        value={note}
        onChange={(event) => setNote(event.target.value)}
        autoFocus
      />
      <PartChoice label={t.partsTitle} options={options} left={left} onChange={setLeft} />
      <Check
        label={t.includeRebuildable}
        help={t.includeRebuildableHelp}
        checked={includeRebuildable}
        onChange={setIncludeRebuildable}
      />
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={t.chooseParts} />
      </div>
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button
          type="submit"
          look="primary"
          busy={busy}
          disabled={nothing || live.pending || live.plan === null}
          reason={engineReason(project)}
        >
          {t.createSubmit}
        </Button>
      </DialogActions>
    </Form>
  )
}
