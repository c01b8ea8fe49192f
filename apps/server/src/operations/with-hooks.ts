import type { HookName } from '@stackquay/contract'
import { hookNames } from '@stackquay/contract'
import { hookOf } from '@stackquay/domain'
import type { Work } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import type { OperationDeps } from './operation-deps.ts'
import { forgetHooks, hookSteps } from './run-hook.ts'

/** Which hook runs around which operation. Those around a start are among the steps of the start, that of a deploy among its own. */
const around: {
  readonly [Kind in ProjectOperation['kind']]?: { readonly name: HookName; readonly when: 'before' | 'after' }
} = {
  create: { name: 'after-create', when: 'after' },
  backup: { name: 'before-backup', when: 'before' },
  import: { name: 'after-import', when: 'after' },
  pull: { name: 'after-import', when: 'after' },
  restore: { name: 'after-restore', when: 'after' },
  'restore-snapshot': { name: 'after-restore', when: 'after' },
  'restore-checkpoint': { name: 'after-restore', when: 'after' },
}

/**
 * The work of an operation with the project’s hook before or after it. A hook before it that fails lets nothing of it begin. One after it
 * takes nothing back: the work is settled as done, and the operation fails and names the hook.
 */
export function withHooks(operation: ProjectOperation, work: Work, deps: OperationDeps): Work {
  const { kind, input } = operation
  // A backup restored into a new project is a copy: its hooks run when it starts, and no others.
  const hook = kind === 'restore' && input.creates === true ? undefined : around[kind]
  let isDone = false
  const steps = async (name: HookName) => {
    const row = await deps.store.projects.find(operation.project)
    if (row === null || !canRun(row, name)) return []
    return hookSteps(operation, row, name, deps)
  }
  const before: Work['stages'] = hook?.when === 'before' ? [() => steps(hook.name)] : []
  const after: Work['stages'] =
    hook?.when === 'after'
      ? [
          async () => {
            isDone = true
            return steps(hook.name)
          },
        ]
      : []
  return {
    ...work,
    stages: [...before, ...work.stages, ...after],
    settle: async (outcome) => {
      await work.settle(isDone ? { state: 'succeeded' } : outcome)
      await forget(operation, deps)
    },
  }
}

/** Databases of a stopped project do not answer: most of what could be done there would fail for that alone. */
function canRun({ desired }: ProjectRow, name: HookName): boolean {
  return name !== 'before-backup' || desired === 'running'
}

/** What cannot be removed now is swept by the next start. */
async function forget(operation: ProjectOperation, deps: OperationDeps): Promise<void> {
  const row = await deps.store.projects.find(operation.project)
  if (row === null || !hookNames.some((name) => hookOf(row.spec, name) !== null)) return
  await forgetHooks(operation, deps).catch(() => undefined)
}
