import type { Backup } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { planRestoreAs, restoreBackupAs } from '../../api/backups.ts'
import { problemFrom } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Check, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { PlanView } from '../../modules/plan-view.tsx'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.backups
const pointers = ['/name', '/slug']

export function RestoreAs({ backup, onClose }: { backup: Backup; onClose: () => void }) {
  const navigate = useNavigate()
  const { name: before, deleted } = backup.project
  const [name, setName] = useState(() => (deleted ? before : t.restoreAsName(before)).slice(0, 60))
  const [start, setStart] = useState(false)
  const { busy, error, run } = useSubmit()
  const body = { name: name.trim(), ...(start ? { start } : {}) }
  const live = usePlan(['restore-as', backup.id], body.name === '' ? null : body, (input, signal) =>
    planRestoreAs(backup.id, input, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const submit = () =>
    run(async () => {
      const project = await restoreBackupAs(backup.id, body)
      onClose()
      if (project.operation !== null)
        await navigate({ to: '/operations/$operation', params: { operation: project.operation.id } })
      else await navigate({ to: '/projects/$project', params: { project: project.slug } })
    })
  return (
    <Form onSubmit={submit}>
      <TextField
        label={t.newName}
        required
        maxLength={60}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={errorsAt(problem?.errors, '/name') ?? errorsAt(problem?.errors, '/slug')}
        autoFocus
      />
      <Check label={t.startAfter} checked={start} onChange={setStart} />
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={texts.create.planIdle} hideErrors={pointers} />
      </div>
      {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy} disabled={live.pending || live.plan === null}>
          {t.restoreAsSubmit}
        </Button>
      </DialogActions>
    </Form>
  )
}
