import { setImmediate as breathe } from 'node:timers/promises'
import type { AuditEntry } from '@stackquay/contract'
import { sql } from 'kysely'
import { type AuditHead, firstPrevHash, hashOf, openHead, sealHead } from './audit-chain.ts'
import { canonicalJsonOf } from './canonical-json.ts'
import type { Reading, Writing } from './context.ts'
import { newId } from './ids.ts'
import { given } from './prepared.ts'
import type { AuditTable } from './schema.ts'
import type { AuditQuestions, NewAuditEntry, Transaction } from './store.ts'
import { containing, escapeLike, storedTime } from './text.ts'

/** The name in the table `instance` of what `sealHead` answers. */
export const auditHead = 'audit_head'
const slice = 500

export function auditQuestions({ db, prepare, key }: Reading): AuditQuestions {
  const from = db.selectFrom('audit').selectAll()
  const following = prepare(from.where('seq', '>', given<number>('seq')).orderBy('seq').limit(slice))
  const count = prepare(db.selectFrom('audit').select(({ fn }) => fn.countAll<number>().as('count')))
  const head = prepare(db.selectFrom('instance').select('value').where('name', '=', auditHead))

  /** The first number that is not as it was written. */
  async function firstBroken(): Promise<number | null> {
    let last: AuditHead = { seq: 0, hash: firstPrevHash }
    for (;;) {
      // The head before the entries: those it counts are then there, whoever appends meanwhile.
      const end = openHead(key, head({})[0]?.value)
      const rows = following({ seq: last.seq })
      for (const row of rows) {
        const entry = entryOf(row)
        const whole = entry?.seq === last.seq + 1 && entry.prevHash === last.hash && hashOf(entry) === entry.hash
        if (!whole) return last.seq + 1
        last = { seq: entry.seq, hash: entry.hash }
      }
      if (rows.length < slice) {
        if (end === null) return Math.max(last.seq, 1)
        if (end.seq > last.seq) return last.seq + 1
        if (end.seq === last.seq) return end.hash === last.hash ? null : last.seq
        // More than the head counts: appended just now, or forged. Another look tells.
        if (rows.length === 0) return end.seq + 1
      }
      await breathe()
    }
  }

  return {
    list: async ({ limit, cursor, q, actor, action, project, outcome, since, until }) => {
      let query = from.orderBy('seq', 'desc').limit(limit)
      if (cursor !== undefined) query = query.where('seq', '<', Number(cursor))
      if (q !== undefined) query = query.where(sql<boolean>`search like ${containing(q)} escape '\\'`)
      if (actor !== undefined) {
        // `ada` is also who acts as `ada (token: ci)`.
        const withToken = sql<boolean>`actor like ${`${escapeLike(actor)} (%`} escape '\\'`
        query = query.where((row) => row.or([row('actor', '=', actor), withToken]))
      }
      if (action !== undefined) query = query.where('action', '=', action)
      if (project !== undefined) query = query.where('project', '=', project)
      if (outcome !== undefined) query = query.where('outcome', '=', outcome)
      if (since !== undefined) query = query.where('time', '>=', storedTime(since))
      if (until !== undefined) query = query.where('time', '<=', storedTime(until))
      return (await query.execute()).map((row) => entryOf(row) ?? unreadable(row))
    },

    verify: async () => {
      const broken = await firstBroken()
      return { ok: broken === null, entries: count({})[0]?.count ?? 0, firstBroken: broken }
    },
  }
}

export function auditChanges({ db, key, now }: Writing): Transaction['audit'] {
  return {
    append: async (given) => {
      const before = await lastEntry()
      const unhashed = { ...complete(given, before, now), hash: '' }
      const entry = { ...unhashed, hash: hashOf(unhashed) }
      await db.insertInto('audit').values(rowOf(entry)).execute()
      await db
        .updateTable('instance')
        .set({ value: sealHead(key, entry) })
        .where('name', '=', auditHead)
        .execute()
      return entry
    },
  }

  /**
   * From the sealed head, not from the table: entries that were cut off must leave a gap. A head that does not bear our
   * seal leaves one too, so that going on does not hide what was done to it.
   */
  async function lastEntry(): Promise<AuditHead> {
    const stored = await db.selectFrom('instance').select('value').where('name', '=', auditHead).executeTakeFirst()
    const head = openHead(key, stored?.value)
    const { seq } = await db
      .selectFrom('audit')
      .select(sql<number>`coalesce(max(seq), 0)`.as('seq'))
      .executeTakeFirstOrThrow()
    if (head === null) {
      if (stored === undefined) await db.insertInto('instance').values({ name: auditHead, value: '' }).execute()
      return { seq: seq + 1, hash: firstPrevHash }
    }
    return seq > head.seq ? { seq, hash: head.hash } : head
  }
}

/** The entry with its place in the chain. Texts become what the database can give back, or the hash would not hold. */
function complete(given: NewAuditEntry, before: AuditHead, now: string): Omit<AuditEntry, 'hash'> {
  return {
    seq: before.seq + 1,
    id: newId('aud', new Date(now)),
    time: now,
    actor: given.actor.toWellFormed(),
    action: given.action.toWellFormed(),
    target: given.target?.toWellFormed() ?? null,
    project: given.project?.toWellFormed() ?? null,
    outcome: given.outcome,
    changes: JSON.parse(canonicalJsonOf(given.changes)) as unknown,
    requestId: given.requestId?.toWellFormed() ?? null,
    operationId: given.operationId?.toWellFormed() ?? null,
    source: given.source,
    ip: given.ip?.toWellFormed() ?? null,
    userAgent: given.userAgent?.toWellFormed() ?? null,
    prevHash: before.hash,
  }
}

function rowOf(entry: AuditEntry): AuditTable {
  const searched = [entry.actor, entry.action, entry.target, entry.project, entry.requestId, entry.operationId]
  return {
    seq: entry.seq,
    id: entry.id,
    time: entry.time,
    actor: entry.actor,
    action: entry.action,
    target: entry.target,
    project: entry.project,
    outcome: entry.outcome,
    changes: canonicalJsonOf(entry.changes),
    request_id: entry.requestId,
    operation_id: entry.operationId,
    source: entry.source,
    ip: entry.ip,
    user_agent: entry.userAgent,
    prev_hash: entry.prevHash,
    hash: entry.hash,
    search: searched
      .filter((text) => text !== null)
      .join('\n')
      .toLowerCase(),
  }
}

/** Null when somebody made the row unreadable. */
function entryOf(row: AuditTable): AuditEntry | null {
  try {
    return {
      seq: row.seq,
      id: row.id,
      time: row.time,
      actor: row.actor,
      action: row.action,
      target: row.target,
      project: row.project,
      outcome: row.outcome as AuditEntry['outcome'],
      changes: JSON.parse(row.changes) as unknown,
      requestId: row.request_id,
      operationId: row.operation_id,
      source: row.source as AuditEntry['source'],
      ip: row.ip,
      userAgent: row.user_agent,
      prevHash: row.prev_hash,
      hash: row.hash,
    }
  } catch {
    return null
  }
}

/** A list shows the rest of such a row; `verify` says that it is broken. */
function unreadable(row: AuditTable): AuditEntry {
  return { ...(entryOf({ ...row, changes: 'null' }) as AuditEntry), changes: null }
}
