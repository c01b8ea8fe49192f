import { readFileSync, rmSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import type { AuditHead } from './audit-chain.ts'
import { canonicalJson } from './canonical-json.ts'
import { isSigned, type SealingKey, sign } from './sealing.ts'

/**
 * A signed note in a file of its own that says how far the audit log had come. The head in the database goes back in time
 * together with the database when somebody puts an older copy in its place; this one does not. It is written after commits,
 * so it may lag behind by a second, and is never ahead of what is stored.
 */
export interface Checkpoint extends AuditHead {
  readonly time: string
}

export type CheckpointFile =
  | { readonly state: 'valid'; readonly checkpoint: Checkpoint; readonly keyId: string }
  | { readonly state: 'missing' }
  /** Somebody emptied it to say: begin anew from here. */
  | { readonly state: 'empty' }
  | { readonly state: 'forged' }

const purpose = 'audit checkpoint'

export function readCheckpoint(file: string, keys: readonly SealingKey[]): CheckpointFile {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { state: 'missing' }
    throw error
  }
  if (text === '') return { state: 'empty' }
  try {
    const { seq, hash, time, mac } = JSON.parse(text) as Checkpoint & { mac: string }
    const key = keys.find((one) => isSigned(one, purpose, signedText({ seq, hash, time }), mac))
    return key === undefined ? { state: 'forged' } : { state: 'valid', checkpoint: { seq, hash, time }, keyId: key.id }
  } catch {
    return { state: 'forged' }
  }
}

/** Writes the file whole or not at all; what stands in it afterwards is on the disk. */
export async function writeCheckpoint(file: string, key: SealingKey, checkpoint: Checkpoint): Promise<void> {
  const mac = sign(key, purpose, signedText(checkpoint))
  const { seq, hash, time } = checkpoint
  const beside = `${file}.new`
  await writeFile(beside, `${canonicalJson({ seq, hash, time, keyId: key.id, mac })}\n`, { mode: 0o600, flush: true })
  await rename(beside, file)
}

function signedText({ seq, hash, time }: Checkpoint): string {
  return `${seq} ${hash} ${time}`
}

export interface CheckpointKeeper {
  /** The log has come this far, and that is committed. Written within a second, together with what comes meanwhile. */
  note(head: AuditHead): void
  /** Writes what was noted, with the key of now. Throws when the file cannot be written. */
  settle(): Promise<void>
  /** Writes what was noted and ends. */
  close(): Promise<void>
}

export interface KeeperOptions {
  readonly file: string
  readonly key: () => SealingKey
  readonly now: () => Date
  readonly report: (error: unknown) => void
  /** What the file says; null before the first writing. */
  readonly last: AuditHead | null
}

const batchMs = 250

export function keepCheckpoint({ file, key, now, report, last }: KeeperOptions): CheckpointKeeper {
  let noted: AuditHead | null = last
  let written: { readonly seq: number; readonly keyId: string } | null = null
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  function settle(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const turn = writing.then(write)
    writing = turn.catch(() => undefined)
    return turn
  }

  async function write(): Promise<void> {
    const head = noted
    const by = key()
    if (head === null || (written?.seq === head.seq && written.keyId === by.id)) return
    await writeCheckpoint(file, by, { seq: head.seq, hash: head.hash, time: now().toISOString() })
    written = { seq: head.seq, keyId: by.id }
  }

  return {
    note: (head) => {
      noted = head
      timer ??= setTimeout(() => void settle().catch(report), batchMs).unref()
    },
    settle,
    close: () => settle().catch(report),
  }
}

/** What a writing that was cut off left. */
export function removeUnfinished(file: string): void {
  rmSync(`${file}.new`, { force: true })
}
