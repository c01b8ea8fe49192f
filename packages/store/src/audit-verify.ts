import { setImmediate as breathe } from 'node:timers/promises'
import { type AuditHead, auditBase, auditHead, follows, openBase, openHead } from './audit-chain.ts'
import { readCheckpoint } from './audit-checkpoint.ts'
import { type AuditGap, auditGap, gapOf } from './audit-gap.ts'
import { auditSlice, entryOf } from './audit-rows.ts'
import type { Reading } from './context.ts'
import type { AuditReader } from './model/audit.ts'
import { given } from './prepared.ts'

export function auditVerifier({ db, prepare, keys }: Reading, checkpointFile: string | null): AuditReader['verify'] {
  const following = prepare(
    db.selectFrom('audit').selectAll().where('seq', '>', given<number>('seq')).orderBy('seq').limit(auditSlice),
  )
  const count = prepare(db.selectFrom('audit').select(({ fn }) => fn.countAll<number>().as('count')))
  const head = prepare(db.selectFrom('instance').select('value').where('name', '=', auditHead))
  const first = prepare(db.selectFrom('audit').select('seq').orderBy('seq').limit(1))
  const base = prepare(db.selectFrom('instance').select('value').where('name', '=', auditBase))
  const gap = prepare(db.selectFrom('instance').select('value').where('name', '=', auditGap))

  /** The first number whose entry was changed or is missing, and why. */
  async function firstBroken(): Promise<AuditGap | null> {
    const begin = openBase(keys.all(), base({})[0]?.value)
    if (begin === null)
      return { firstBroken: 1, reason: 'The beginning of the audit log does not bear the service’s seal.' }
    const [early] = first({})
    if (early !== undefined && early.seq <= begin.seq) {
      const reason = `Entry ${early.seq} was not written by the service, or should be removed: the log begins behind ${begin.seq}.`
      return { firstBroken: early.seq, reason }
    }
    let last: AuditHead = begin
    for (;;) {
      // The head is read before the entries, so that all entries it counts are there.
      const end = openHead(keys.all(), head({})[0]?.value)
      const rows = following({ seq: last.seq })
      for (const row of rows) {
        const entry = entryOf(row)
        if (!follows(entry, last)) {
          return { firstBroken: last.seq + 1, reason: `Entry ${last.seq + 1} is not as it was written, or is missing.` }
        }
        last = { seq: entry.seq, hash: entry.hash }
      }
      if (rows.length < auditSlice) {
        const ending = endBroken(last, end, rows.length === 0)
        if (ending !== 'more') return ending
      }
      await breathe()
    }
  }

  /** The checkpoint file as it is now, and the first gap. It is read before the entries, because it lags behind them. */
  async function checked(): Promise<{ checkpoint: { seq: number; time: string } | null; broken: AuditGap | null }> {
    const found = checkpointFile === null ? null : readCheckpoint(checkpointFile, keys.all())
    const inLog = await firstBroken()
    const remembered = gap({})[0]
    const gaps = [
      inLog,
      remembered === undefined ? null : (JSON.parse(remembered.value) as AuditGap),
      found === null ? null : await gapOf(db, found, openBase(keys.all(), base({})[0]?.value)?.seq ?? 0),
    ].filter((one) => one !== null)
    return {
      checkpoint: found?.state === 'valid' ? { seq: found.checkpoint.seq, time: found.checkpoint.time } : null,
      broken: gaps.toSorted((one, other) => one.firstBroken - other.firstBroken)[0] ?? null,
    }
  }

  return async () => {
    const { checkpoint, broken } = await checked()
    return {
      ok: broken === null,
      entries: count({})[0]?.count ?? 0,
      firstBroken: broken?.firstBroken ?? null,
      reason: broken?.reason ?? null,
      checkpoint,
    }
  }
}

/**
 * What is wrong where the entries end, against the sealed head; null: nothing. `more`: the log has more than the head counts, an entry
 * appended just now, or a forged one. Another look decides, after which `isLast` says that nothing came.
 */
function endBroken(last: AuditHead, end: AuditHead | null, isLast: boolean): AuditGap | null | 'more' {
  if (end === null) {
    const reason = 'The head of the audit log does not bear the service’s seal.'
    return { firstBroken: Math.max(last.seq, 1), reason }
  }
  if (end.seq > last.seq) {
    const reason = `Entries ${last.seq + 1} to ${end.seq} are missing: the sealed head counts them.`
    return { firstBroken: last.seq + 1, reason }
  }
  if (end.seq === last.seq) {
    if (end.hash === last.hash) return null
    return { firstBroken: last.seq, reason: `Entry ${last.seq} is not the one that the sealed head names.` }
  }
  return isLast ? { firstBroken: end.seq + 1, reason: `Entry ${end.seq + 1} was not written by the service.` } : 'more'
}
