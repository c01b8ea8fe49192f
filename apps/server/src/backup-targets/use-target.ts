import { ProblemError } from '@stackquay/contract'
import type { BackupTargetRow, Store } from '@stackquay/store'
import { type Copier, CopierEndedError, openCopier, type TargetError } from '@stackquay/targets'
import { openAccess } from './sealed-access.ts'

export interface UseOptions {
  /** What fails for a while is tried again, and told. Without it a person waits for the answer, and gets the first one. */
  readonly onRetry?: (error: TargetError, pauseMs: number) => void
}

/** A target that is connected to when it is first asked for something. Connections and the process that has them end with `act`. */
export async function useTarget<Result>(
  row: BackupTargetRow,
  store: Store,
  options: UseOptions,
  act: (target: Copier) => Promise<Result>,
): Promise<Result> {
  await using target = openCopier({ ...(await openAccess(row, store)), ...options })
  return await act(target).catch((error: unknown) => {
    if (!(error instanceof CopierEndedError)) throw error
    throw new ProblemError('job_failed', error.message, {
      hint: 'Try again: a copy goes on where it was. Look whether the machine has enough memory.',
      cause: error,
    })
  })
}

/** Throws `not_found`. */
export async function findTarget(store: Store, id: string): Promise<BackupTargetRow> {
  const row = await store.backupTargets.find(id)
  if (row === null) throw new ProblemError('not_found', `There is no backup target "${id}".`)
  return row
}
