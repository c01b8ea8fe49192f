import type { Backup, ProjectView } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { planRestore, restoreBackup } from '../../api/backups.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { PlanView } from '../../modules/plan-view.tsx'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { PartChoice } from './part-choice.tsx'

const t = texts.backups

interface RestoreInPlaceProps {
  backup: Backup
  project: ProjectView
  onClose: () => void
}

/** Which parts go back, what that replaces, and the name typed. */
export function RestoreInPlace({ backup, project, onClose }: RestoreInPlaceProps) {
  const navigate = useNavigate()
  const options = backup.parts.map(({ id, title }) => ({ id, label: title }))
  // Settings stay as they are unless a person asks for those of then.
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set(['settings']))
  const [typed, setTyped] = useState('')
  const { busy, error, run } = useSubmit()
  const parts = options.map(({ id }) => id).filter((id) => !left.has(id))
  const bodyFor = (confirm: string) => ({ confirm, parts })
  const live = usePlan(['restore', project.id, backup.id], parts.length === 0 ? null : parts, (_, signal) =>
    planRestore(project, backup.id, bodyFor(project.slug), signal),
  )
  const submit = () =>
    run(async () => {
      const operation = await restoreBackup(project, backup.id, bodyFor(typed))
      onClose()
      await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
    })
  return (
    <Form onSubmit={submit}>
      <PartChoice label={t.restoreParts} options={options} left={left} onChange={setLeft} />
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={t.chooseParts} />
      </div>
      <TextField
        label={texts.common.typeToConfirm(project.slug)}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        mono
        spellCheck={false}
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button
          type="submit"
          look="danger"
          busy={busy}
          disabled={typed !== project.slug || live.pending || live.plan === null}
        >
          {t.restoreSubmit}
        </Button>
      </DialogActions>
    </Form>
  )
}
