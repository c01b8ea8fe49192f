import type { Kysely, Transaction } from 'kysely'
import { auditBase, auditHead, firstPrevHash, openBase, openHead, sealBase, sealHead } from './audit-chain.ts'
import { StoreUnusableError } from './errors.ts'
import { resealAnswers } from './idempotency.ts'
import type { Schema } from './schema.ts'
import { type SealingKey, seal, unseal } from './sealing.ts'
import { resealTotp } from './second-factors.ts'
import { resealSecrets } from './secrets.ts'

const keyCheck = 'key_check'
const checkedText = 'stackquay'

interface KeyCheck {
  readonly keyId: string
  readonly sealed: string
  /** Since when this key is the one; older databases do not say. */
  readonly since?: string
}

/**
 * Answers which of the keys the database was sealed with. The first key is remembered by its id and by a text sealed with
 * it; any other is refused from then on. There are two to try when a replacement was cut off.
 */
export async function checkKey(
  writer: Kysely<Schema>,
  keys: readonly [SealingKey, ...SealingKey[]],
  file: string,
  now: string,
): Promise<SealingKey> {
  return writer.transaction().execute(async (tx) => {
    const stored = await tx.selectFrom('instance').select('value').where('name', '=', keyCheck).executeTakeFirst()
    if (stored === undefined) {
      const [key] = keys
      await tx
        .insertInto('instance')
        .values([
          { name: keyCheck, value: checkOf(key, now) },
          { name: auditHead, value: sealHead(key, { seq: 0, hash: firstPrevHash }) },
        ])
        .onConflict((conflict) => conflict.column('name').doNothing())
        .execute()
      return key
    }
    const { keyId, sealed } = JSON.parse(stored.value) as KeyCheck
    const key = keys.find((one) => one.id === keyId)
    if (key === undefined) {
      throw new StoreUnusableError(
        `The secrets in "${file}" are sealed with the key ${keyId}; the service was given the key ${keys[0].id}. Give it the key ${keyId}.`,
      )
    }
    if (unseal(key, sealed, [keyCheck, keyId]) !== checkedText) {
      throw new StoreUnusableError(
        `The service was given a key that calls itself ${keyId}, but it is not the one that sealed the secrets in "${file}". Give it the original key.`,
      )
    }
    return key
  })
}

/** Since when the present key seals. */
export async function sealedSince(db: Kysely<Schema>): Promise<string> {
  const stored = await db.selectFrom('instance').select('value').where('name', '=', keyCheck).executeTakeFirstOrThrow()
  const { since } = JSON.parse(stored.value) as KeyCheck
  if (since !== undefined) return since
  const sql = db.selectFrom('migrations').select('applied_at').orderBy('version').limit(1)
  return (await sql.executeTakeFirstOrThrow()).applied_at
}

export interface Resealed {
  readonly resealed: number
  /** Secrets that could not be opened before either; they stay as they are. */
  readonly unreadable: number
}

/** Everything that is sealed with the old key is sealed with the next; inside one transaction, so all of it or nothing. */
export async function reseal(
  tx: Transaction<Schema>,
  from: SealingKey,
  next: SealingKey,
  now: string,
): Promise<Resealed> {
  const secrets = await resealSecrets(tx, from, next)
  const totp = await resealTotp(tx, from, next)
  await resealAnswers(tx, from, next)
  const set = (name: string, value: string) =>
    tx.updateTable('instance').set({ value }).where('name', '=', name).execute()
  await set(keyCheck, checkOf(next, now))
  const stored = async (name: string) =>
    (await tx.selectFrom('instance').select('value').where('name', '=', name).executeTakeFirst())?.value
  const head = openHead([from], await stored(auditHead))
  // A head that bears another seal is evidence; a new seal on it would hide what was done.
  if (head !== null) await set(auditHead, sealHead(next, head))
  const base = openBase([from], await stored(auditBase))
  if (base !== null) await set(auditBase, sealBase(next, base))
  return { resealed: secrets.resealed + totp.resealed, unreadable: secrets.unreadable + totp.unreadable }
}

function checkOf(key: SealingKey, since: string): string {
  const check: KeyCheck = { keyId: key.id, sealed: seal(key, checkedText, [keyCheck, key.id]), since }
  return JSON.stringify(check)
}
