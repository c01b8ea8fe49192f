import type { CheckpointKeeper } from './audit-checkpoint.ts'
import { reseal } from './key-check.ts'
import type { Keyring } from './keyring.ts'
import type { SealingKey } from './sealing.ts'
import type { Store } from './store.ts'
import type { Transactions } from './transactions.ts'

/** See `Store.replaceKey`. */
export async function replaceKey(
  next: SealingKey,
  work: Parameters<Store['replaceKey']>[1],
  from: {
    readonly keys: Keyring
    readonly keeper: CheckpointKeeper | null
    readonly transactions: Transactions
    report(error: unknown): void
  },
): ReturnType<Store['replaceKey']> {
  const { keys, keeper, transactions, report } = from
  // A disk that takes no checkpoint now would take none afterwards either.
  await keeper?.settle()
  const before = keys.current
  keys.admit(next)
  try {
    const counts = await transactions.run(async (tx, { db, now }) => {
      const done = await reseal(db, before, next, now)
      await work(tx, done)
      return done
    }, next)
    keys.change(next)
    const settled = await (keeper?.settle() ?? Promise.resolve()).then(
      () => true,
      (error: unknown) => {
        report(error)
        return false
      },
    )
    return { ...counts, settled }
  } catch (error) {
    keys.dismiss(next.id)
    throw error
  }
}
