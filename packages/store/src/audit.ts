import { setImmediate as breathe } from 'node:timers/promises'
import type { AuditEntry } from '@stackquay/contract'
import { sql } from 'kysely'
import { type AuditHead, firstPrevHash, hashOf, openHead, sealHead } from './audit-chain.ts'
import { readCheckpoint } from './audit-checkpoint.ts'
import { type AuditGap, auditGap, gapOf } from './audit-gap.ts'
import { canonicalJsonOf } from './canonical-json.ts'
import type { Reading, Writing } from './context.ts'
import { newId } from './ids.ts'
import { given } from './prepared.ts'
import type { AuditTable } from './schema.ts'
import type { AuditFilters, AuditQuestions, NewAuditEntry, Transaction } from './store.ts'
import { containing, storedTime } from './text.ts'

/** The name in the table `instance` of what `sealHead` answers. */
export const auditHead = 'audit_head'
const slice = 500

export function auditQuestions({ db, prepare, keys }: Reading, checkpointFile: string | null): AuditQuestions {
  const from = db.selectFrom('audit').selectAll()
  const following = prepare(from.where('seq', '>', given<number>('seq')).orderBy('seq').limit(slice))
  const count = prepare(db.selectFrom('audit').select(({ fn }) => fn.countAll<number>().as('count')))
  const head = prepare(db.selectFrom('instance').select('value').where('name', '=', auditHead))
  const gap = prepare(db.selectFrom('instance').select('value').where('name', '=', auditGap))
  const newest = prepare(db.selectFrom('audit').select(({ fn }) => fn.max('seq').as('seq')))

  /** The first number that is not as it was written, and why. */
  async function firstBroken(): Promise<AuditGap | null> {
    let last: AuditHead = { seq: 0, hash: firstPrevHash }
    for (;;) {
      // The head before the entries: those it counts are then there, whoever appends meanwhile.
      const end = openHead(keys.all(), head({})[0]?.value)
      const rows = following({ seq: last.seq })
      for (const row of rows) {
        const entry = entryOf(row)
        const whole = entry?.seq === last.seq + 1 && entry.prevHash === last.hash && hashOf(entry) === entry.hash
        if (!whole) {
          return { firstBroken: last.seq + 1, reason: `Entry ${last.seq + 1} is not as it was written, or is missing.` }
        }
        last = { seq: entry.seq, hash: entry.hash }
      }
      if (rows.length < slice) {
        if (end === null) {
          return { firstBroken: Math.max(last.seq, 1), reason: 'The head of the audit log does not bear our seal.' }
        }
        if (end.seq > last.seq) {
          const reason = `Entries ${last.seq + 1} to ${end.seq} are missing: the sealed head counts them.`
          return { firstBroken: last.seq + 1, reason }
        }
        if (end.seq === last.seq) {
          if (end.hash === last.hash) return null
          return { firstBroken: last.seq, reason: `Entry ${last.seq} is not the one that the sealed head names.` }
        }
        // More than the head counts: appended just now, or forged. Another look tells.
        if (rows.length === 0) {
          return { firstBroken: end.seq + 1, reason: `Entry ${end.seq + 1} was not written by the service.` }
        }
      }
      await breathe()
    }
  }

  /** The checkpoint as it stands in its file now, and what it contradicts. Read before the entries: it lags behind them. */
  async function checked(): Promise<{ checkpoint: { seq: number; time: string } | null; broken: AuditGap | null }> {
    const found = checkpointFile === null ? null : readCheckpoint(checkpointFile, keys.all())
    const inLog = await firstBroken()
    const remembered = gap({})[0]
    const gaps = [
      inLog,
      remembered === undefined ? null : (JSON.parse(remembered.value) as AuditGap),
      found === null ? null : await gapOf(db, found),
    ].filter((one) => one !== null)
    return {
      checkpoint: found?.state === 'valid' ? { seq: found.checkpoint.seq, time: found.checkpoint.time } : null,
      broken: gaps.toSorted((one, other) => one.firstBroken - other.firstBroken)[0] ?? null,
    }
  }

  function matching({ q, actor, action, project, outcome, since, until }: AuditFilters) {
    let query = from
    if (q !== undefined) query = query.where(sql<boolean>`search like ${containing(q)} escape '\\'`)
    if (actor !== undefined) {
      // `ada` is also who acts as `ada (token: ci)`. A range, unlike a pattern, is found in the index.
      query = query.where((row) =>
        row.or([
          row('actor', '=', actor),
          row.and([row('actor', '>=', `${actor} (`), row('actor', '<', `${actor} )`)]),
        ]),
      )
    }
    if (action !== undefined) query = query.where('action', '=', action)
    if (project !== undefined) query = query.where('project', '=', project)
    if (outcome !== undefined) query = query.where('outcome', '=', outcome)
    if (since !== undefined) query = query.where('time', '>=', storedTime(since))
    if (until !== undefined) query = query.where('time', '<=', storedTime(until))
    return query
  }

  async function* slicesUpTo(end: number, filters: AuditFilters) {
    const query = matching(filters).where('seq', '<=', end).orderBy('seq').limit(slice)
    for (let last = 0; ; ) {
      const rows = await query.where('seq', '>', last).execute()
      if (rows.length > 0) yield rows.map((row) => entryOf(row) ?? unreadable(row))
      if (rows.length < slice) return
      last = rows.at(-1)!.seq
      await breathe()
    }
  }

  return {
    list: async ({ limit, cursor, ...filters }) => {
      let query = matching(filters).orderBy('seq', 'desc').limit(limit)
      if (cursor !== undefined) query = query.where('seq', '<', Number(cursor))
      return (await query.execute()).map((row) => entryOf(row) ?? unreadable(row))
    },

    // Where it ends is decided now, not when somebody begins to read.
    slices: (filters) => slicesUpTo(newest({})[0]?.seq ?? 0, filters),

    verify: async () => {
      const { checkpoint, broken } = await checked()
      return {
        ok: broken === null,
        entries: count({})[0]?.count ?? 0,
        firstBroken: broken?.firstBroken ?? null,
        reason: broken?.reason ?? null,
        checkpoint,
      }
    },
  }
}

export function auditChanges(writing: Writing): Transaction['audit'] {
  const { db, key, now } = writing
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
      writing.head = { seq: entry.seq, hash: entry.hash }
      return entry
    },
  }

  /**
   * From the sealed head, not from the table: entries that were cut off must leave a gap. A head that does not bear our
   * seal leaves one too, so that going on does not hide what was done to it.
   */
  async function lastEntry(): Promise<AuditHead> {
    const stored = await db.selectFrom('instance').select('value').where('name', '=', auditHead).executeTakeFirst()
    const head = openHead([key], stored?.value)
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
