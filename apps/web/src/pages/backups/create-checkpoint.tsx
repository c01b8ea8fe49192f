import type { ProjectView } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { createCheckpoint, planCheckpoint } from '../../api/checkpoints.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Check, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { PlanView } from '../../modules/plan-view.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.backups.checkpoints

/** A new one, with what stops for it and how it is copied. */
export function CreateCheckpoint({ project, onClose }: { project: ProjectView; onClose: () => void }) {
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const [includeRebuildable, setIncludeRebuildable] = useState(false)
  const { busy, error, clear, run } = useSubmit()
  const kept = includeRebuildable ? { includeRebuildable } : {}
  const live = usePlan(['checkpoint', project.id], kept, (input, signal) => planCheckpoint(project.id, input, signal))
  const submit = () =>
    run(async () => {
      const named = name.trim() === '' ? {} : { name: name.trim() }
      const operation = await createCheckpoint(project.id, { ...kept, ...named })
      onClose()
      await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
    })
  return (
    <Form onSubmit={submit}>
      <TextField
        label={t.name}
        help={t.nameHelp}
        optional
        maxLength={80}
        value={name}
        onChange={(event) => {
          clear()
          setName(event.target.value)
        }}
        autoFocus
      />
      <Check
        label={texts.backups.includeRebuildable}
        help={texts.backups.includeRebuildableHelp}
        checked={includeRebuildable}
        onChange={setIncludeRebuildable}
      />
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={texts.create.planning} />
      </div>
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button
          type="submit"
          look="primary"
          busy={busy}
          disabled={live.pending || live.plan === null}
          reason={engineReason(project)}
        >
          {t.create}
        </Button>
      </DialogActions>
    </Form>
  )
}
