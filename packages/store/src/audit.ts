import { setImmediate as breathe } from 'node:timers/promises'
import type { AuditEntry } from '@stackquay/contract'
import { sql } from 'kysely'
import {
  type AuditHead,
  auditBase,
  auditHead,
  firstPrevHash,
  follows,
  hashOf,
  openBase,
  openHead,
  sealBase,
  sealHead,
} from './audit-chain.ts'
import { auditColumns, auditSlice, entryOf, rowOf, shownEntry } from './audit-rows.ts'
import { auditVerifier } from './audit-verify.ts'
import { canonicalJsonOf } from './canonical-json.ts'
import type { Reading, Writing } from './context.ts'
import { newId } from './ids.ts'
import type { AuditFilters, AuditReader, AuditWriter, NewAuditEntry } from './model/audit.ts'
import { given, givenRow, statement } from './prepared.ts'
import type { AuditTable } from './schema.ts'
import { containing, storedTime } from './text.ts'

export function auditReader(reading: Reading, checkpointFile: string | null): AuditReader {
  const { db, prepare } = reading
  const newest = prepare(db.selectFrom('audit').select(({ fn }) => fn.max('seq').as('seq')))

  async function* slicesUpTo(end: number, filters: AuditFilters) {
    const query = matching(db, filters).where('seq', '<=', end).orderBy('seq').limit(auditSlice)
    for (let last = 0; ; ) {
      const rows = await query.where('seq', '>', last).execute()
      if (rows.length > 0) yield rows.map(shownEntry)
      if (rows.length < auditSlice) return
      last = rows.at(-1)!.seq
      await breathe()
    }
  }

  return {
    list: async ({ limit, cursor, ...filters }) => {
      let query = matching(db, filters).orderBy('seq', 'desc').limit(limit)
      if (cursor !== undefined) query = query.where('seq', '<', Number(cursor))
      return (await query.execute()).map(shownEntry)
    },

    // The end is fixed now, not when the reading begins.
    slices: (filters) => slicesUpTo(newest({})[0]?.seq ?? 0, filters),

    verify: auditVerifier(reading, checkpointFile),
  }
}

function matching(db: Reading['db'], { q, actor, action, project, outcome, since, until }: AuditFilters) {
  let query = db.selectFrom('audit').selectAll()
  if (q !== undefined) query = query.where(sql<boolean>`search like ${containing(q)} escape '\\'`)
  if (actor !== undefined) {
    // `ada` is also who acts as `ada (token: ci)`. A range, unlike a pattern, is found in the index.
    query = query.where((row) =>
      row.or([row('actor', '=', actor), row.and([row('actor', '>=', `${actor} (`), row('actor', '<', `${actor} )`)])]),
    )
  }
  if (action !== undefined) query = query.where('action', '=', action)
  if (project !== undefined) query = query.where('project', '=', project)
  if (outcome !== undefined) query = query.where('outcome', '=', outcome)
  if (since !== undefined) query = query.where('time', '>=', storedTime(since))
  if (until !== undefined) query = query.where('time', '<=', storedTime(until))
  return query
}

const storedHead = statement((db) => db.selectFrom('instance').select('value').where('name', '=', auditHead))
const setHead = statement((db) =>
  db
    .updateTable('instance')
    .set({ value: given<string>('value') })
    .where('name', '=', auditHead),
)
const lastSeq = statement((db) => db.selectFrom('audit').select(({ fn }) => fn.max('seq').as('seq')))
const insertEntry = statement((db) => db.insertInto('audit').values(givenRow<AuditTable>(auditColumns)))

export function auditWriter(writing: Writing): AuditWriter {
  const { db, run, key, now } = writing
  return {
    append: async (told) => {
      const before = await lastEntry()
      const unhashed = { ...complete(told, before, now), hash: '' }
      const entry = { ...unhashed, hash: hashOf(unhashed) }
      run(insertEntry, rowOf(entry))
      run(setHead, { value: sealHead(key, entry) })
      writing.head = { seq: entry.seq, hash: entry.hash }
      return entry
    },

    prune: async (before, most) => {
      const stored = await db.selectFrom('instance').select('value').where('name', '=', auditBase).executeTakeFirst()
      const base = openBase([key], stored?.value)
      const newest = run(lastSeq, {})[0]?.seq ?? 0
      if (base === null) return 0
      // With what somebody put before it, the first is none that follows the base.
      const old = db.selectFrom('audit').selectAll().where('seq', '<', newest)
      let last = base
      for (const row of await old.orderBy('seq').limit(most).execute()) {
        if (row.time >= storedTime(before)) break
        const entry = entryOf(row)
        if (!follows(entry, last)) break
        last = { seq: entry.seq, hash: entry.hash }
      }
      if (last.seq === base.seq) return 0
      // The base first: what is not behind it cannot be deleted.
      const value = sealBase(key, last)
      await db
        .insertInto('instance')
        .values({ name: auditBase, value })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
        .execute()
      await db.deleteFrom('audit').where('seq', '<=', last.seq).execute()
      return last.seq - base.seq
    },
  }

  /**
   * From the sealed head, not from the table: entries that were cut off must leave a gap. A head without the
   * service’s seal leaves one too, so that new entries do not hide the forgery.
   */
  async function lastEntry(): Promise<AuditHead> {
    const [stored] = run(storedHead, {})
    const head = openHead([key], stored?.value)
    const seq = run(lastSeq, {})[0]?.seq ?? 0
    if (head === null) {
      if (stored === undefined) await db.insertInto('instance').values({ name: auditHead, value: '' }).execute()
      return { seq: seq + 1, hash: firstPrevHash }
    }
    return seq > head.seq ? { seq, hash: head.hash } : head
  }
}

/** The entry with its place in the chain. Texts become well-formed first: the database must return what was hashed. */
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
