import type { StepContext } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import type { Acting } from '../git/acting.ts'
import { noRemote } from '../git/refusals.ts'
import { remoteOf } from '../git/sealed-remote.ts'
import type { OperationDeps } from './operation-deps.ts'

/** What an operation needs to act on the repository of its project. */
export async function actingOn(
  row: ProjectRow,
  operation: ProjectOperation,
  by: Acting['by'],
  { signal, output }: Pick<StepContext, 'signal' | 'output'>,
  deps: OperationDeps,
): Promise<Acting> {
  await deps.provision(row.id, signal)
  return {
    repository: await deps.repositories.open(row, signal),
    files: deps.files,
    half: deps.gitHalf,
    by,
    askedAt: new Date(operation.createdAt),
    signal,
    say: (line) => output({ stream: 'stderr', text: `${line}\n` }),
    remote: async () => {
      const remote = await remoteOf(row, deps.store)
      if (remote === null) throw noRemote()
      return remote
    },
  }
}
