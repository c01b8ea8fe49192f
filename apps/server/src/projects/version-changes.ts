import type { FieldError, Plan } from '@stackquay/contract'
import {
  type Earlier,
  isOfDatabase,
  type ProjectSpec,
  pointerOfChange,
  type Resolved,
  type VersionChange,
} from '@stackquay/domain'
import type { Observed } from '@stackquay/engine-api'
import type { ProjectRow } from '@stackquay/store'
import { doomedData, type Removal } from './removal.ts'

/** What a change of the versions of databases and services is looked at with. */
export interface VersionChanges {
  /** Which data from before upgrades could be put back. */
  earlier(row: Pick<ProjectRow, 'id' | 'engine' | 'spec'>): Earlier
  /** What is done to the data. Throws what stands in its way, before anything is touched. */
  plan(
    row: ProjectRow,
    versions: readonly VersionChange[],
    world: {
      readonly kinds: Resolved['kinds']
      readonly observed: readonly Observed[]
      /** What the program of a service that wrote the data is not found for: it cannot be started again. */
      readonly unresolved: readonly string[]
      /** Whether what is wanted of the project is that it runs. */
      readonly isUp: boolean
    },
  ): Promise<Pick<Plan['plan'], 'steps' | 'restarts' | 'deletesData' | 'warnings'>>
}

/** The plan with what is done to the data first. */
export async function withVersions(
  { plan }: Plan,
  row: ProjectRow,
  versions: readonly VersionChange[],
  world: Parameters<VersionChanges['plan']>[2],
  changes: VersionChanges,
): Promise<Plan> {
  if (versions.length === 0) return { plan }
  const first = await changes.plan(row, versions, world)
  const converted = new Set(first.steps.map(({ workload }) => workload))
  const others = (names: readonly string[]) => names.filter((name) => !first.restarts.includes(name))
  return {
    plan: {
      ...plan,
      // Its own start and stop are among them.
      steps: [...first.steps, ...plan.steps.filter(({ workload }) => !converted.has(workload))],
      restarts: [...first.restarts, ...others(plan.restarts)],
      keepsRunning: others(plan.keepsRunning),
      deletesData: [...first.deletesData, ...plan.deletesData],
      warnings: [...first.warnings, ...plan.warnings],
    },
  }
}

/** Names of data that goes, for who must be allowed that: going back to an earlier version loses what was written since. */
export function deletedBy({
  removal,
  versions,
}: {
  readonly removal: Pick<Removal, 'deleteData' | 'deleteSnapshots'>
  readonly versions: readonly VersionChange[]
}): readonly string[] {
  const back = versions.filter(isOfDatabase).filter((change) => change.back !== null)
  return [...doomedData(removal), ...back.map(({ database }) => database)]
}

/** Both are about data, and each may fail alone. */
export function togetherBlocker({
  spec,
  removesData,
  versions,
}: {
  readonly spec: ProjectSpec
  readonly removesData: readonly string[]
  readonly versions: readonly VersionChange[]
}): readonly FieldError[] {
  const [change] = versions
  if (change === undefined || removesData.length === 0) return []
  const detail = 'Delete data of a service in a change of its own, before or after this one.'
  return [{ pointer: pointerOfChange(change, spec), code: 'not_together', detail }]
}
