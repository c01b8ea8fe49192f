import { randomBytes } from 'node:crypto'
import type { Transaction } from '@stackquay/store'
import { hashOf } from './token-value.ts'

/** How long a link holds. */
export const inviteMs = 48 * 3_600_000

/** Makes the one link of a person; an earlier one opens nothing any more. The code is in no other place than what this answers. */
export async function makeInvite(
  tx: Pick<Transaction, 'invites'>,
  user: { readonly id: string; readonly passwordHash: string | null },
  { publicUrl, now }: { readonly publicUrl: string; readonly now: number },
): Promise<{ kind: 'invitation' | 'reset'; url: string; expiresAt: string }> {
  const code = randomBytes(32).toString('base64url')
  const expiresAt = new Date(now + inviteMs).toISOString()
  await tx.invites.put({ hash: hashOf(code), user: user.id, expiresAt })
  // Behind #, which no browser sends anywhere.
  return { kind: kindOf(user), url: `${publicUrl.replace(/\/$/, '')}/welcome#${code}`, expiresAt }
}

export function kindOf({ passwordHash }: { readonly passwordHash: string | null }): 'invitation' | 'reset' {
  return passwordHash === null ? 'invitation' : 'reset'
}

/** Another password: whatever was open under the old one ends, and so does a link that would set yet another. */
export async function setPassword(tx: Transaction, user: string, passwordHash: string, except?: string): Promise<void> {
  await tx.users.update(user, { passwordHash })
  await tx.sessions.deleteOfUser(user, except)
  await tx.devices.deleteOfUser(user)
  await tx.invites.deleteOfUser(user)
}
