import type { Reading, Writing } from './context.ts'
import type { IdempotencyReader, IdempotencyWriter, StoredAnswer } from './model/idempotency.ts'
import type { IdempotencyTable } from './schema.ts'
import { storedTime } from './text.ts'

export function idempotencyReader({ db }: Reading): IdempotencyReader {
  return {
    find: async (caller, key) => {
      const row = await db
        .selectFrom('idempotency')
        .selectAll()
        .where('caller', '=', caller)
        .where('key', '=', key)
        .executeTakeFirst()
      return row === undefined ? null : answerOf(row)
    },
  }
}

export function idempotencyWriter({ db, now }: Writing): IdempotencyWriter {
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
      return { reserved: false, stored: answerOf(row) }
    },
    complete: async (caller, key, { status, headers, body }) => {
      await db
        .updateTable('idempotency')
        .set({ status, headers: JSON.stringify(headers), body })
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

function answerOf({ fingerprint, status, headers, body }: IdempotencyTable): StoredAnswer {
  if (status === null) return { state: 'running', fingerprint }
  return {
    state: 'done',
    fingerprint,
    status,
    headers: JSON.parse(headers ?? '{}') as Record<string, string>,
    body: body ?? '',
  }
}
