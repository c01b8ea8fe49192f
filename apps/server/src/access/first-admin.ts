import { ProblemError } from '@stackquay/contract'
import type { NewAuditEntry, Store, Transaction, UserRow } from '@stackquay/store'
import { byTheService, newId } from '@stackquay/store'
import { hashPassword } from './passwords.ts'

export interface FirstAdmin {
  readonly username: string
  readonly password: string
  /** The audit entry to write; without it the service itself is the actor. */
  readonly audit?: NewAuditEntry
}

/**
 * Makes the first user, an administrator. Throws `already_set_up` as soon as any user exists, also when two try at
 * once. `alongside` runs in the same transaction.
 */
export async function createFirstAdmin(
  store: Pick<Store, 'users' | 'transaction'>,
  { username, password, audit }: FirstAdmin,
  alongside?: (tx: Transaction, user: UserRow) => Promise<void>,
): Promise<UserRow> {
  const passwordHash = await hashPassword(password, 'known')
  return store.transaction(async (tx) => {
    if ((await store.users.count()) > 0) throw new ProblemError('already_set_up', 'An administrator exists already.')
    const user = await tx.users.insert({ id: newId('usr'), username, role: 'admin', passwordHash })
    await tx.audit.append({
      ...(audit ?? byTheService({ action: 'setup.complete' })),
      target: username,
      changes: { after: { username, role: 'admin' } },
    })
    await alongside?.(tx, user)
    return user
  })
}
