import type { Transaction } from 'kysely'
import type { Reading, Writing } from './context.ts'
import type { IdempotencyReader, IdempotencyWriter, StoredAnswer } from './model/idempotency.ts'
import type { IdempotencyTable, Schema } from './schema.ts'
import { type SealingKey, seal, unseal } from './sealing.ts'
import { storedTime } from './text.ts'

export function idempotencyReader({ db, keys }: Reading): IdempotencyReader {
  return {
    find: async (caller, key) => {
      const row = await db
        .selectFrom('idempotency')
        .selectAll()
        .where('caller', '=', caller)
        .where('key', '=', key)
        .executeTakeFirst()
      return row === undefined ? null : answerOf(row, keys.all())
    },
  }
}

export function idempotencyWriter({ db, key: sealingKey, now }: Writing): IdempotencyWriter {
  return {
    reserve: async (caller, key, fingerprint) => {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('idempotency')
        .values({ caller, key, fingerprint, status: null, headers: null, body: null, created_at: now })
        .onConflict((conflict) => conflict.columns(['caller', 'key']).doNothing())
        .executeTakeFirstOrThrow()
      if (numInsertedOrUpdatedRows === 1n) return { reserved: true }
      const row = await db
        .selectFrom('idempotency')
        .selectAll()
        .where('caller', '=', caller)
        .where('key', '=', key)
        .executeTakeFirstOrThrow()
      return { reserved: false, stored: answerOf(row, [sealingKey]) }
    },
    complete: async (caller, key, { status, headers, body }) => {
      await db
        .updateTable('idempotency')
        .set({ status, headers: JSON.stringify(headers), body: sealedBody(sealingKey, { caller, key }, body) })
        .where('caller', '=', caller)
        .where('key', '=', key)
        .execute()
    },
    forget: async (caller, key) => {
      await db.deleteFrom('idempotency').where('caller', '=', caller).where('key', '=', key).execute()
    },
    expire: async (before) => {
      await db.deleteFrom('idempotency').where('created_at', '<', storedTime(before)).execute()
    },
    forgetRunning: async () => {
      await db.deleteFrom('idempotency').where('status', 'is', null).execute()
    },
  }
}

/** Answers that wait for a repetition, from one key to another. */
export async function resealAnswers(tx: Transaction<Schema>, from: SealingKey, next: SealingKey): Promise<void> {
  const rows = await tx
    .selectFrom('idempotency')
    .select(['caller', 'key', 'body'])
    .where('body', 'is not', null)
    .execute()
  for (const { caller, key, body } of rows) {
    const opened = openBody([from], { caller, key, body })
    // One that was damaged before stays as it is.
    if (opened === null) continue
    await tx
      .updateTable('idempotency')
      .set({ body: sealedBody(next, { caller, key }, opened) })
      .where('caller', '=', caller)
      .where('key', '=', key)
      .execute()
  }
}

function answerOf(row: IdempotencyTable, keys: readonly SealingKey[]): StoredAnswer {
  const { fingerprint, status, headers } = row
  if (status === null) return { state: 'running', fingerprint }
  const body = openBody(keys, row)
  if (body === null) throw new Error('A stored answer is sealed with another key, or damaged.')
  return {
    state: 'done',
    fingerprint,
    status,
    headers: JSON.parse(headers ?? '{}') as Record<string, string>,
    body,
  }
}

type Place = Pick<IdempotencyTable, 'caller' | 'key'>

/** Some answers hold a secret that is shown once. */
function sealedBody(sealingKey: SealingKey, place: Place, body: string): string {
  return body === '' ? '' : seal(sealingKey, body, about(place))
}

/** Of an earlier version it is JSON as it was answered, which no sealed text looks like. Those are gone within a day. */
function openBody(
  keys: readonly SealingKey[],
  { body, ...place }: Place & Pick<IdempotencyTable, 'body'>,
): string | null {
  if (body === null || body === '' || /^[{["]/.test(body)) return body ?? ''
  for (const key of keys) {
    const opened = unseal(key, body, about(place))
    if (opened !== null) return opened
  }
  return null
}

function about({ caller, key }: Place): readonly unknown[] {
  return ['idempotency', caller, key]
}
