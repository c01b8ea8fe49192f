import type { FactorKind, Store, Transaction } from '@stackquay/store'

/** Takes all second factors of a person away, with recovery codes. Answers which there were. */
export async function removeFactors(
  tx: Transaction,
  user: string,
  store: Pick<Store, 'secondFactors'>,
): Promise<readonly FactorKind[]> {
  const { totp, passkeys } = await store.secondFactors.of(user)
  const kinds: readonly FactorKind[] = [
    ...(totp === null ? [] : ['totp' as const]),
    ...(passkeys.length === 0 ? [] : ['passkey' as const]),
  ]
  await tx.secondFactors.removeAll(user)
  for (const kind of kinds)
    await tx.events.append({ type: 'second-factor.changed', project: null, data: { user, kind, added: false } })
  return kinds
}
