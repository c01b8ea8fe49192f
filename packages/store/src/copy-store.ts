import { Worker } from 'node:worker_threads'
import type { AuditHead } from './audit-chain.ts'
import type { CopyOrder, CopyReport } from './copy-worker.ts'
import { StoreUnusableError } from './errors.ts'
import type { SealingKey } from './sealing.ts'
import { damaged, explain } from './sqlite-errors.ts'

/** A copy of the database, and what is in it. */
export interface StoreCopy {
  /** Of the database: how many migrations it has had. */
  readonly schema: number
  /** Id of the key that its secrets are sealed with. */
  readonly keyId: string
  /** Where its audit log ends, and whether its chain and its sealed head hold up to there. */
  readonly audit: AuditHead & { readonly whole: boolean }
  readonly counts: Readonly<Record<string, number>>
}

/**
 * Writes the last committed state to a new file, one whole database without anything beside it, while the service goes on reading and
 * writing. Whoever is logged in is not in it: sessions, tickets, known devices, invitations and remembered answers are left out. It counts only when
 * this resolves: the copy was found sound then.
 *
 * All of it is done by a thread of its own, page by page, so nothing else waits and memory does not grow with the database.
 */
export async function copyStore(
  from: string,
  to: string,
  keys: readonly SealingKey[],
  signal?: AbortSignal,
): Promise<StoreCopy> {
  signal?.throwIfAborted()
  const order: CopyOrder = { from, to, keys: keys.map(({ id, key }) => ({ id, key: new Uint8Array(key) })) }
  const worker = new Worker(new URL('./copy-worker.ts', import.meta.url), { workerData: order })
  const { promise, resolve, reject } = Promise.withResolvers<CopyReport>()
  const abort = () => reject(signal?.reason)
  worker.once('message', resolve).once('error', reject)
  worker.once('exit', (code) => reject(new Error(`The copy of the database ended early (exit code ${code}).`)))
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return copyOf(await promise, from, to)
  } finally {
    signal?.removeEventListener('abort', abort)
    await worker.terminate()
  }
}

function copyOf(report: CopyReport, from: string, to: string): StoreCopy {
  if (report.kind === 'copied') return report.copy
  if (report.kind === 'unsound') throw new StoreUnusableError(damaged(from, report.problem))
  const { message, ...detail } = report.error
  throw explain(Object.assign(new Error(message), detail), to)
}
