import type { ProjectView } from '@stackquay/contract'
import { useState } from 'react'
import { changeWork } from '../../api/workers.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { toastDone } from '../../components/toast.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { ProgramFields } from './program-fields.tsx'
import { RuntimeField } from './runtime-field.tsx'

const t = texts.workers

export interface WorkerDraft {
  readonly isNew: boolean
  readonly name: string
  readonly command: string
  readonly count: number
  readonly runtime: string | null
}

export function WorkerForm({
  project,
  draft,
  onClose,
}: {
  project: ProjectView
  draft: WorkerDraft
  onClose: () => void
}) {
  const [fields, setFields] = useState(draft)
  const set = (changed: Partial<WorkerDraft>) => setFields({ ...fields, ...changed })
  const { busy, error, problem, run } = useSubmit()
  const { name, command, count, runtime } = fields
  const at = (field = '') => `/workers/${name}${field}`
  const submit = () =>
    run(async () => {
      await changeWork(project.id, { workers: { [name]: { command, count, runtime } } })
      toastDone(t.saved)
      onClose()
    })
  return (
    <Form onSubmit={submit}>
      <ProgramFields program={fields} onChange={set} at={at()} errors={problem?.errors} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label={t.count}
          type="number"
          inputMode="numeric"
          min={1}
          max={20}
          required
          value={Number.isNaN(count) ? '' : count}
          onChange={(event) => set({ count: event.target.valueAsNumber })}
          error={errorsAt(problem?.errors, at('/count'))}
        />
        <RuntimeField
          project={project}
          value={runtime}
          onChange={(value) => set({ runtime: value })}
          error={errorsAt(problem?.errors, at('/runtime'))}
        />
      </div>
      {error !== null && (
        <ErrorNote error={error} hideErrors={['', '/command', '/count', '/runtime'].map((field) => at(field))} />
      )}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {texts.common.save}
        </Button>
      </DialogActions>
    </Form>
  )
}
