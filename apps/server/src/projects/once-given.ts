import { setTimeout as sleep } from 'node:timers/promises'
import { ProblemError } from '@stackquay/contract'
import type { PortLease, SecretHandle, Store } from '@stackquay/store'

/** What a project gets at its first start, and again when it grows. */
export interface Given {
  readonly leases: readonly PortLease[]
  readonly secrets: Readonly<Record<string, SecretHandle>>
}

/** Something has no port or secret yet, because it was never started. */
export class NotGivenError extends ProblemError {
  constructor(detail: string) {
    super('not_found', detail, { hint: 'Start the project.' })
  }
}

/** How long an operation may take until it gives the project what it needs; it does that first. */
const patienceMs = 5_000
const lookEveryMs = 50

/**
 * Answers what `look` finds in the ports and secrets of a project. Where it throws NotGivenError while an operation holds the project, it
 * looks again for a moment: whoever asks right after a change was accepted must not be told that the new database has no password.
 */
export async function onceGiven<Value>(
  project: string,
  look: (given: Given) => Value,
  store: Pick<Store, 'operations' | 'ports' | 'secrets'>,
  signal: AbortSignal,
): Promise<Value> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    // Asked before the look: what an operation gave before it ended is there by then.
    const isHeld = (await store.operations.active(project)) !== null
    const [leases, secrets] = await Promise.all([store.ports.of(project), store.secrets.of(project)])
    try {
      return look({ leases, secrets })
    } catch (error) {
      if (!(error instanceof NotGivenError) || !isHeld || Date.now() >= deadline || signal.aborted) throw error
    }
    await sleep(lookEveryMs)
  }
}
