import type { ProjectView } from '@stackquay/contract'
import { useState } from 'react'
import { planUpdate, updateProject } from '../../api/changes.ts'
import { problemFrom } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Panel } from '../../components/panel.tsx'
import { toastDone } from '../../components/toast.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { healthChange, healthFormOf } from '../../lib/health-form.ts'
import { PlanView } from '../../modules/plan-view.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { useMay } from '../../modules/use-may.ts'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { HealthCheckFields } from './health-check-fields.tsx'

const t = texts.settings

export function General({ project }: { project: ProjectView }) {
  const mayChange = useMay()('operate')
  const reason = engineReason(project)
  const [name, setName] = useState(project.name)
  const [health, setHealth] = useState(healthFormOf(project.healthCheck))
  const { busy, error, run } = useSubmit()
  const healthCheck = healthChange(health, project.healthCheck)
  const patch = {
    ...(name.trim() !== project.name ? { name: name.trim() } : {}),
    ...(healthCheck === undefined ? {} : { healthCheck }),
  }
  const changed = Object.keys(patch).length > 0
  const live = usePlan(['update', project.id], changed ? patch : null, (input, signal) =>
    planUpdate(project.id, input, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const pointers = ['/name', '/healthCheck']

  const save = async () => {
    await run(async () => {
      await updateProject(project.id, patch)
      toastDone(t.saved)
    })
  }
  return (
    <Panel title={t.general}>
      <Form onSubmit={save}>
        <fieldset disabled={!mayChange || reason !== null} className="flex min-w-0 flex-col gap-4">
          <legend className="sr-only">{t.general}</legend>
          <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
            <TextField
              label={t.name}
              help={t.nameHelp}
              maxLength={60}
              value={name}
              onChange={(event) => setName(event.target.value)}
              error={errorsAt(problem?.errors, '/name')}
            />
            <TextField label={t.slug} value={project.slug} readOnly mono />
          </div>
          <HealthCheckFields project={project.id} form={health} onChange={setHealth} errors={problem?.errors} />
        </fieldset>
        {changed && (
          <div className="rounded-lg border border-line bg-sunken p-3">
            <PlanView live={live} idle="" hideErrors={pointers} />
          </div>
        )}
        {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
        {mayChange && (
          <div>
            <Button type="submit" look="primary" busy={busy} disabled={!changed || name.trim() === ''} reason={reason}>
              {t.save}
            </Button>
          </div>
        )}
      </Form>
    </Panel>
  )
}
