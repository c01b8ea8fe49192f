import { Secret } from '@stackquay/contract'
import type { Transaction } from 'kysely'
import type { Reading, Writing } from './context.ts'
import { TakenError } from './errors.ts'
import type { FactorKind, PasskeyRow, SecondFactorReader, SecondFactorWriter, TotpRow } from './model/second-factors.ts'
import { given } from './prepared.ts'
import type { Schema } from './schema.ts'
import type { PasskeysTable, TotpTable } from './schema-access.ts'
import { type SealingKey, seal, unseal } from './sealing.ts'

export function secondFactorReader({ db, prepare, keys }: Reading): SecondFactorReader {
  const totpOf = prepare(db.selectFrom('totp').selectAll().where('user', '=', given<string>('user')))
  const passkeysOf = prepare(
    db.selectFrom('passkeys').selectAll().where('user', '=', given<string>('user')).orderBy('id'),
  )
  const codesOf = prepare(db.selectFrom('recovery_codes').select('hash').where('user', '=', given<string>('user')))
  const rowOf = ({ user, key_id, sealed, last_step, failures, created_at }: TotpTable): TotpRow => {
    const key = keys.find(key_id)
    const text = key === undefined ? null : unseal(key, sealed, about(user))
    const secret = text === null ? null : new Secret(text)
    return { secret, lastStep: last_step, failures, createdAt: created_at }
  }
  return {
    of: async (user) => {
      const totp = totpOf({ user })[0]
      return {
        totp: totp === undefined ? null : rowOf(totp),
        passkeys: passkeysOf({ user }).map(passkeyOf),
        recoveryCodes: codesOf({ user }).length,
      }
    },
    has: async (user) => totpOf({ user }).length > 0 || passkeysOf({ user }).length > 0,
    kinds: async () => {
      const found = new Map<string, FactorKind[]>()
      for (const { user } of await db.selectFrom('totp').select('user').execute()) found.set(user, ['totp'])
      for (const { user } of await db.selectFrom('passkeys').select('user').distinct().execute())
        found.set(user, [...(found.get(user) ?? []), 'passkey'])
      return found
    },
    passkey: async (credential) =>
      (await db.selectFrom('passkeys').selectAll().where('credential', '=', credential).execute()).map(passkeyOf)[0] ??
      null,
  }
}

export function secondFactorWriter(writing: Writing): SecondFactorWriter {
  const { db, key, now } = writing
  return {
    addTotp: async ({ user, secret, step }) => {
      const held = await db.selectFrom('totp').select('user').where('user', '=', user).executeTakeFirst()
      if (held !== undefined) throw new TakenError('totp', user)
      const sealed = seal(key, secret, about(user))
      const row: TotpTable = { user, key_id: key.id, sealed, last_step: step, failures: 0, created_at: now }
      await db.insertInto('totp').values(row).execute()
      writing.rightsChanged = true
    },
    useStep: async (user, step) => {
      const { numUpdatedRows } = await db
        .updateTable('totp')
        .set({ last_step: step, failures: 0 })
        .where('user', '=', user)
        .where('last_step', '<', step)
        .executeTakeFirst()
      return numUpdatedRows === 1n
    },
    countFailure: async (user) => {
      await db
        .updateTable('totp')
        .set((row) => ({ failures: row('failures', '+', 1) }))
        .where('user', '=', user)
        .execute()
    },
    removeTotp: async (user) => {
      writing.rightsChanged = true
      const gone = await db.deleteFrom('totp').where('user', '=', user).executeTakeFirst()
      return gone.numDeletedRows === 1n
    },
    ...recoveryCodeWriter(writing),
    ...passkeyWriter(writing),
    removeAll: async (user) => {
      writing.rightsChanged = true
      for (const table of ['totp', 'passkeys', 'recovery_codes'] as const)
        await db.deleteFrom(table).where('user', '=', user).execute()
    },
  }
}

function recoveryCodeWriter({ db }: Writing): Pick<SecondFactorWriter, 'putRecoveryCodes' | 'useRecoveryCode'> {
  return {
    putRecoveryCodes: async (user, hashes) => {
      await db.deleteFrom('recovery_codes').where('user', '=', user).execute()
      if (hashes.length === 0) return
      const rows = hashes.map((hash) => ({ hash, user }))
      await db.insertInto('recovery_codes').values(rows).execute()
    },
    useRecoveryCode: async (user, hash) => {
      const gone = await db
        .deleteFrom('recovery_codes')
        .where('user', '=', user)
        .where('hash', '=', hash)
        .executeTakeFirst()
      return gone.numDeletedRows === 1n
    },
  }
}

function passkeyWriter(writing: Writing): Pick<SecondFactorWriter, 'addPasskey' | 'usePasskey' | 'removePasskey'> {
  const { db, now } = writing
  return {
    addPasskey: async ({ id, user, name, credential, publicKey, counter, transports, rpId }) => {
      const held = db.selectFrom('passkeys').select('id').where('credential', '=', credential)
      const holder = await held.executeTakeFirst()
      if (holder !== undefined) throw new TakenError('passkey', holder.id)
      const row: PasskeysTable = {
        ...{ id, user, name, credential, public_key: publicKey, counter, rp_id: rpId },
        ...{ transports: JSON.stringify(transports), created_at: now, last_used_at: null },
      }
      await db.insertInto('passkeys').values(row).execute()
      writing.rightsChanged = true
      return passkeyOf(row)
    },
    usePasskey: async (id, counter) => {
      const { numUpdatedRows } = await db
        .updateTable('passkeys')
        .set({ counter, last_used_at: now })
        .where('id', '=', id)
        // An authenticator that does not count always says 0.
        .where('counter', counter === 0 ? '=' : '<', counter)
        .executeTakeFirst()
      return numUpdatedRows === 1n
    },
    removePasskey: async (id) => {
      writing.rightsChanged = true
      const gone = await db.deleteFrom('passkeys').where('id', '=', id).executeTakeFirst()
      return gone.numDeletedRows === 1n
    },
  }
}

/** The secrets of codes are sealed like all others; see `reseal`. */
export async function resealTotp(
  db: Transaction<Schema>,
  from: SealingKey,
  next: SealingKey,
): Promise<{ resealed: number; unreadable: number }> {
  const counts = { resealed: 0, unreadable: 0 }
  for (const { user, key_id, sealed } of await db.selectFrom('totp').selectAll().execute()) {
    const text = key_id === from.id ? unseal(from, sealed, about(user)) : null
    counts[text === null ? 'unreadable' : 'resealed'] += 1
    if (text === null) continue
    const row = { key_id: next.id, sealed: seal(next, text, about(user)) }
    await db.updateTable('totp').set(row).where('user', '=', user).execute()
  }
  return counts
}

/** What a sealed secret is bound to: that of another person does not open. */
function about(user: string): readonly unknown[] {
  return ['totp', user]
}

function passkeyOf(row: PasskeysTable): PasskeyRow {
  return {
    id: row.id,
    user: row.user,
    name: row.name,
    credential: row.credential,
    publicKey: row.public_key,
    counter: row.counter,
    transports: JSON.parse(row.transports) as string[],
    rpId: row.rp_id,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }
}
