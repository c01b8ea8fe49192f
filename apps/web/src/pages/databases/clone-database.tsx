import type { ProjectView, Snapshot } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { problemFrom } from '../../api/client.ts'
import { cloneDatabase, planClone } from '../../api/snapshots.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { freeName } from '../../lib/names.ts'
import { PlanView } from '../../modules/plan-view.tsx'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.databases.snapshots
const pointers = ['/name']

interface CloneDatabaseProps {
  project: ProjectView
  name: string
  /** Of this one instead of the database as it is. */
  snapshot: Snapshot | null
  onClose: () => void
}

export function CloneDatabase({ project, name, snapshot, onClose }: CloneDatabaseProps) {
  const navigate = useNavigate()
  const [wanted, setWanted] = useState(() => freeName(`${name}_copy`, Object.keys(project.databases)))
  const { busy, error, run } = useSubmit()
  const body = { name: wanted, ...(snapshot === null ? {} : { snapshot: snapshot.id }) }
  const live = usePlan(['clone', project.id, name], wanted === '' ? null : body, (input, signal) =>
    planClone(project.id, name, input, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const submit = () =>
    run(async () => {
      const operation = await cloneDatabase(project.id, name, body)
      onClose()
      await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
    })
  return (
    <Form onSubmit={submit}>
      <TextField
        label={t.cloneName}
        required
        maxLength={31}
        value={wanted}
        onChange={(event) => setWanted(event.target.value)}
        error={errorsAt(problem?.errors, '/name')}
        mono
        spellCheck={false}
        autoFocus
      />
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={texts.create.planIdle} hideErrors={pointers} />
      </div>
      {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy} disabled={live.pending || live.plan === null}>
          {t.cloneSubmit}
        </Button>
      </DialogActions>
    </Form>
  )
}
