import type { ProjectView } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { duplicateProject } from '../../api/changes.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Panel } from '../../components/panel.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { engineReason } from '../../modules/project-actions.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.settings

export function Duplicate({ project }: { project: ProjectView }) {
  const navigate = useNavigate()
  const [name, setName] = useState(() => t.duplicateDefault(project.name).slice(0, 60))
  const { busy, error, problem, run } = useSubmit()
  const errors = problem?.errors
  const submit = async () => {
    await run(async () => {
      const copy = await duplicateProject(project.id, { name })
      if (copy.operation !== null)
        await navigate({ to: '/operations/$operation', params: { operation: copy.operation.id } })
      else await navigate({ to: '/projects/$project', params: { project: copy.slug } })
    })
  }
  return (
    <Panel id="duplicate" title={t.duplicate} detail={t.duplicateDetail}>
      <Form className="flex flex-col gap-3" onSubmit={submit}>
        <TextField
          label={t.duplicateName}
          required
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={errorsAt(errors, '/name') ?? errorsAt(errors, '/slug')}
          className="max-w-md"
          action={
            <Button type="submit" busy={busy} reason={engineReason(project)}>
              {t.duplicateSubmit}
            </Button>
          }
        />
        {error !== null && <ErrorNote error={error} hideErrors={['/name', '/slug']} />}
      </Form>
    </Panel>
  )
}
