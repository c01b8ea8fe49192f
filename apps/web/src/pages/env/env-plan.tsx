import type { ProjectPatch } from '@stackquay/contract'
import { planUpdate } from '../../api/changes.ts'
import { PlanView } from '../../modules/plan-view.tsx'
import { usePlan } from '../../modules/use-plan.ts'
import { texts } from '../../texts/index.ts'

/** What a change of variables does to what runs, before it is done. */
export function EnvPlan({ project, env }: { project: string; env: ProjectPatch['env'] | null }) {
  const live = usePlan(['update', project], env === null ? null : { env }, (input, signal) =>
    planUpdate(project, input as ProjectPatch, signal),
  )
  return (
    <div className="rounded-lg border border-line bg-sunken p-3">
      <PlanView live={live} idle={texts.create.planIdle} hideErrors={['/env']} />
    </div>
  )
}
