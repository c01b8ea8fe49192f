import { ProblemError } from '@stackquay/contract'
import type { BackupTargetRow, Store } from '@stackquay/store'
import {
  openSealer,
  openTarget,
  type Sealer,
  type Target,
  type TargetError,
  type TargetKey,
  withRetries,
} from '@stackquay/targets'
import { openAccess } from './sealed-access.ts'

/** A target that is connected to when it is first asked for something. */
export interface OpenedTarget {
  readonly target: Target
  readonly key: TargetKey
  readonly sealer: Sealer
}

export interface UseOptions {
  /** What fails for a while is tried again, and told. Without it a person waits for the answer, and gets the first one. */
  readonly onRetry?: (error: TargetError, pauseMs: number) => void
}

/** Connections and the thread that encrypts end with `act`. */
export async function useTarget<Result>(
  row: BackupTargetRow,
  store: Store,
  { onRetry }: UseOptions,
  act: (opened: OpenedTarget) => Promise<Result>,
): Promise<Result> {
  const { access, key } = await openAccess(row, store)
  const target = await openTarget(access)
  await using sealer = openSealer()
  try {
    return await act({ target: onRetry === undefined ? target : withRetries(target, { onRetry }), key, sealer })
  } finally {
    await target.close()
  }
}

/** Throws `not_found`. */
export async function findTarget(store: Store, id: string): Promise<BackupTargetRow> {
  const row = await store.backupTargets.find(id)
  if (row === null) throw new ProblemError('not_found', `There is no backup target "${id}".`)
  return row
}
