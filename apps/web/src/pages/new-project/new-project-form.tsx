import type { OfferedRuntime, OfferedTemplate } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { createProject, planCreate } from '../../api/changes.ts'
import { problemFrom } from '../../api/client.ts'
import { diagnosticsQuery, projectsQuery } from '../../api/queries.ts'
import { Form } from '../../components/form.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { freeSlug } from '../../lib/names.ts'
import { bodyOf, offeredForm, type ProjectFormState, suggestedName } from '../../lib/project-form.ts'
import { EngineChoice } from '../../modules/engine-choice.tsx'
import type { ServiceType } from '../../modules/service-type.ts'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { DatabasesPanel } from './databases-panel.tsx'
import { PlanPanel } from './plan-panel.tsx'
import { RuntimesPanel } from './runtimes-panel.tsx'
import { ServicesPanel } from './services-panel.tsx'
import { SourcePanel } from './source-panel.tsx'

interface NewProjectFormProps {
  /** As it was typed, also what the engine chosen now does not offer: the other one may. */
  typed: ProjectFormState
  onChange: (form: ProjectFormState) => void
  /** What is offered is still that of the engine chosen before. */
  waiting: boolean
  runtimes: readonly OfferedRuntime[]
  templates: readonly OfferedTemplate[]
  databases: readonly ServiceType[]
  services: readonly ServiceType[]
}

export function NewProjectForm({ typed, onChange, waiting, ...offers }: NewProjectFormProps) {
  const { runtimes, templates, databases, services } = offers
  const navigate = useNavigate()
  const form = offeredForm(typed, offers)
  const engines = useQuery(diagnosticsQuery).data?.engines ?? []
  const { busy, error, clear, run } = useSubmit()
  const taken = (useQuery(projectsQuery).data ?? []).map((project) => project.slug)
  const name = form.name ?? freeSlug(suggestedName(form), taken)
  const body = waiting ? null : bodyOf(form, name.trim())
  const live = usePlan(['create'], body, planCreate)
  const errors = error !== null ? problemFrom(error).errors : live.error ? problemFrom(live.error).errors : undefined
  const template = templates.find((item) => item.name === form.template)
  const change = (part: Partial<ProjectFormState>) => {
    clear()
    onChange({ ...typed, ...part })
  }
  const submit = async () => {
    if (body === null) return
    await run(async () => {
      const project = await createProject(body)
      if (project.operation !== null)
        await navigate({ to: '/operations/$operation', params: { operation: project.operation.id } })
      else await navigate({ to: '/projects/$project', params: { project: project.slug } })
    })
  }
  const part = { form, change, errors }
  return (
    <Form className="grid grid-cols-1 items-start gap-4 xl:grid-cols-[minmax(0,1fr)_26rem]" onSubmit={submit}>
      <div className="flex min-w-0 flex-col gap-4">
        <SourcePanel {...part} templates={templates} />
        <EngineChoice
          engines={engines}
          chosen={form.engine}
          onChoose={(engine) => change({ engine })}
          error={errorsAt(errors, '/engine')}
        />
        <RuntimesPanel {...part} runtimes={runtimes} template={template} />
        <DatabasesPanel {...part} databases={databases} template={template} />
        <ServicesPanel {...part} services={services} />
      </div>
      <PlanPanel
        {...part}
        name={name}
        live={live}
        pointers={[
          ...['/name', '/slug', '/git', '/path', '/runAs', '/template', '/databases'],
          ...[...runtimes, ...services].map((offered) => `/${offered.name}`),
          ...(engines.length > 1 ? ['/engine'] : []),
        ]}
        busy={busy}
        error={error}
        incomplete={body === null}
      />
    </Form>
  )
}
