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

/** The name in the table `instance` of the sealed head. */
export const auditHead = 'audit_head'

const purpose = 'audit head'

export function sealHead(key: SealingKey, head: AuditHead): string {
  return canonicalJson({ seq: head.seq, hash: head.hash, seal: sign(key, purpose, `${head.seq} ${head.hash}`) })
}

/** Null when the head is missing or bears none of the keys' seals. */
export function openHead(keys: readonly SealingKey[], stored: string | undefined): AuditHead | null {
  try {
    const { seq, hash, seal } = JSON.parse(stored ?? '') as { seq: number; hash: string; seal: string }
    return keys.some((key) => isSigned(key, purpose, `${seq} ${hash}`, seal)) ? { seq, hash } : null
  } catch {
    return null
  }
}
