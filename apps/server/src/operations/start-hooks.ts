import type { PartKind } from '@stackquay/domain'
import type { Change } from '@stackquay/engine-api'
import type { WorkStep } from '@stackquay/orchestrator'
import type { ProjectRow } from '@stackquay/store'
import type { OperationDeps } from './operation-deps.ts'
import type { Failures } from './reconcile-steps.ts'
import { hookSteps } from './run-hook.ts'

/** The hooks around a start, among its changes. */
export interface StartHooks {
  /** In their order; what programs use comes before the programs, so that the hook finds it running. */
  readonly changes: readonly Change[]
  /** What comes before the steps of this change. */
  before(change: Change): readonly WorkStep[]
  readonly after: readonly WorkStep[]
}

/** No hook runs where no program starts or is replaced, and none for a crash, whose restart is no operation. */
export function startHooks(
  { id, project }: { readonly id: string | undefined; readonly project: string },
  {
    row,
    resolved,
  }: { readonly row: ProjectRow; readonly resolved: { readonly kinds: Readonly<Record<string, PartKind>> } },
  { changes, goal }: { readonly changes: readonly Change[]; readonly goal: 'running' | 'stopped' },
  failures: Failures,
  deps: OperationDeps,
): StartHooks {
  const none: StartHooks = { changes, before: () => [], after: [] }
  if (id === undefined || goal !== 'running' || row.spec.hooks === undefined) return none
  const comesUp = (change: Change) => change.type === 'start' || change.type === 'replace'
  const isProgram = (change: Change) =>
    comesUp(change) && ['runtime', 'worker'].includes(resolved.kinds[change.workload.ref.workload] ?? '')
  const firstAt = changes.findIndex(isProgram)
  if (firstAt === -1) return none
  const operation = { id, project }
  const hook = hookSteps(operation, row, 'before-start', deps)
  const isUsed = (change: Change) => comesUp(change) && !isProgram(change)
  const later = changes.slice(firstAt)
  const ordered =
    hook.length === 0
      ? changes
      : [...changes.slice(0, firstAt), ...later.filter(isUsed), ...later.filter((change) => !isUsed(change))]
  const first = ordered.find(isProgram)
  /** What does not come up for it stays down, and says why; what would have been replaced goes on. */
  const giveUp = (error: unknown) => {
    for (const change of ordered)
      if (change.type === 'start' && isProgram(change)) failures.push({ ref: change.workload.ref, error })
  }
  const before = hook.map(
    (step): WorkStep => ({
      ...step,
      run: (context) =>
        step.run(context).catch((error: unknown) => {
          giveUp(error)
          throw error
        }),
    }),
  )
  return {
    changes: ordered,
    before: (change) => (change === first ? before : []),
    after: hookSteps(operation, row, 'after-start', deps),
  }
}
