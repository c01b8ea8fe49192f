import { createHash } from 'node:crypto'
import type { AuditEntry } from '@stackquay/contract'
import { canonicalJson } from './canonical-json.ts'
import { isSigned, type SealingKey, sign } from './sealing.ts'

/** What stands before the first entry. */
export const firstPrevHash = '0'.repeat(64)

/** SHA-256 over the hash before and the canonical JSON of everything else in the entry. */
export function hashOf({ prevHash, hash: _, ...entry }: AuditEntry): string {
  return createHash('sha256').update(prevHash).update(canonicalJson(entry)).digest('hex')
}

/**
 * Where the chain ends. A chain alone does not show that its last entries were cut off or that all of it was computed
 * anew; the head is sealed with a key that does not stand in the file.
 */
export interface AuditHead {
  readonly seq: number
  readonly hash: string
}

/** Whether an entry is as it was written, right behind another; null is one that cannot be read. */
export function follows(entry: AuditEntry | null, before: AuditHead): entry is AuditEntry {
  return entry?.seq === before.seq + 1 && entry.prevHash === before.hash && hashOf(entry) === entry.hash
}

/** The name in the table `instance` of the sealed head. */
export const auditHead = 'audit_head'

/** The name in the table `instance` of the sealed base: the last entry that was removed because it was too old. */
export const auditBase = 'audit_base'

const purpose = 'audit head'
const basePurpose = 'audit base'

export function sealHead(key: SealingKey, head: AuditHead): string {
  return sealed(key, purpose, head)
}

/** Null when the head is missing or bears none of the keys' seals. */
export function openHead(keys: readonly SealingKey[], stored: string | undefined): AuditHead | null {
  return opened(keys, purpose, stored)
}

/** Where the chain begins. It is sealed as its end is, or whoever cut off the first entries could say that they were too old. */
export function sealBase(key: SealingKey, base: AuditHead): string {
  return sealed(key, basePurpose, base)
}

/** Before the first entry when nothing was removed yet; null when it bears none of the keys' seals. */
export function openBase(keys: readonly SealingKey[], stored: string | undefined): AuditHead | null {
  return stored === undefined ? { seq: 0, hash: firstPrevHash } : opened(keys, basePurpose, stored)
}

function sealed(key: SealingKey, what: string, { seq, hash }: AuditHead): string {
  return canonicalJson({ seq, hash, seal: sign(key, what, `${seq} ${hash}`) })
}

function opened(keys: readonly SealingKey[], what: string, stored: string | undefined): AuditHead | null {
  try {
    const { seq, hash, seal } = JSON.parse(stored ?? '') as { seq: number; hash: string; seal: string }
    return keys.some((key) => isSigned(key, what, `${seq} ${hash}`, seal)) ? { seq, hash } : null
  } catch {
    return null
  }
}
