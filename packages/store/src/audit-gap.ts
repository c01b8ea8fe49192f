import type { Kysely } from 'kysely'
import { type AuditHead, firstPrevHash } from './audit-chain.ts'
import type { CheckpointFile } from './audit-checkpoint.ts'
import type { Schema } from './schema.ts'

/** There, in the table `instance`: a checkpoint was written once, so a missing file is a finding. */
export const auditKept = 'audit_checkpoint'
/** There: the gap that a start found. */
export const auditGap = 'audit_gap'

/** Entries that are lost or forged, remembered from the start that found it. */
export interface AuditGap {
  readonly firstBroken: number
  readonly reason: string
}

/** Null when the log has what the checkpoint says. Entries up to `base` were removed because they were too old. */
export async function gapOf(db: Kysely<Schema>, found: CheckpointFile, base: number): Promise<AuditGap | null> {
  const { seq: last } = await headOf(db)
  switch (found.state) {
    case 'missing':
    case 'empty':
      return {
        firstBroken: last + 1,
        reason: `The checkpoint of the audit log is gone, so it is unknown whether entries after ${last} are missing.`,
      }
    case 'forged':
      return {
        firstBroken: last + 1,
        reason: `The checkpoint of the audit log does not bear the service’s seal, so it is unknown whether entries after ${last} are missing.`,
      }
    case 'valid': {
      const { seq, hash, time } = found.checkpoint
      if (seq > 0 && seq <= base) return null
      const there = await hashAt(db, seq)
      if (there === hash) return null
      return there === null
        ? {
            firstBroken: last + 1,
            reason: `Entries ${last + 1} to ${seq} are missing: the checkpoint of ${time} counts them.`,
          }
        : { firstBroken: seq, reason: `Entry ${seq} is not the one that the checkpoint of ${time} saw.` }
    }
    default:
      return found satisfies never
  }
}

async function hashAt(db: Kysely<Schema>, seq: number): Promise<string | null> {
  if (seq === 0) return firstPrevHash
  return (await db.selectFrom('audit').select('hash').where('seq', '=', seq).executeTakeFirst())?.hash ?? null
}

export async function headOf(db: Kysely<Schema>): Promise<AuditHead> {
  const last = await db.selectFrom('audit').select(['seq', 'hash']).orderBy('seq', 'desc').limit(1).executeTakeFirst()
  return last ?? { seq: 0, hash: firstPrevHash }
}
