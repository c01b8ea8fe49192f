import { createHash, randomBytes } from 'node:crypto'
import { type Target, TargetError } from './target.ts'

export interface StoredObject {
  readonly bytes: number
  /** Hexadecimal, of the object as it lies on the target. */
  readonly sha256: string
}

/** Something else on the way may have changed it once; twice is no chance. */
const attempts = 2

/** Puts an object and reads it back: only then does it count. */
export async function putChecked(
  target: Target,
  name: string,
  content: Uint8Array,
  signal: AbortSignal,
): Promise<StoredObject> {
  const stored = describe(content)
  for (let attempt = 1; ; attempt += 1) {
    await target.put(name, content, signal)
    if (await isStored(target, name, stored, signal)) return stored
    if (attempt === attempts)
      throw new TargetError('not_kept', `${name} is not on the target as it was written: what is read back differs.`)
  }
}

async function isStored(target: Target, name: string, stored: StoredObject, signal: AbortSignal): Promise<boolean> {
  try {
    const read = await target.get(name, stored.bytes, signal)
    return read !== null && read.length === stored.bytes && describe(read).sha256 === stored.sha256
  } catch (error) {
    if (error instanceof TargetError && error.code === 'damaged') return false
    throw error
  }
}

export function describe(content: Uint8Array): StoredObject {
  return { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') }
}

/** Writes, reads back and deletes a small object. Throws why one of these does not do. */
export async function checkTarget(target: Target, signal: AbortSignal): Promise<void> {
  const name = `check-${randomBytes(8).toString('hex')}`
  try {
    await putChecked(target, name, randomBytes(1000), signal)
    await target.list('backups', signal)
  } finally {
    await target.remove(name, signal)
  }
  if ((await target.stat(name, signal)) !== null)
    throw new TargetError('refused', 'The target keeps what is deleted: the right to delete is missing.')
}
