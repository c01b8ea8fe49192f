import type { Sealer } from './age/sealer.ts'
import {
  CopyIndex,
  copyFormatVersion,
  copyName,
  countPieces,
  indexFolder,
  indexName,
  isCopyName,
  mostIndexBytes,
  pieceBytes,
  pieceFolder,
  pieceName,
} from './copy-format.ts'
import { oneAhead } from './one-ahead.ts'
import { describe } from './put-checked.ts'
import { type Target, TargetError } from './target.ts'
import type { TargetKey } from './target-key.ts'

export interface ReadOptions {
  readonly target: Target
  readonly key: TargetKey
  readonly sealer: Sealer
  readonly signal: AbortSignal
}

/** All copies that lie on the target, of this instance and of others. Those that cannot be read are handed to `onUnreadable`. */
export async function listCopies(
  options: ReadOptions,
  onUnreadable: (error: TargetError) => void,
): Promise<readonly CopyIndex[]> {
  const found: CopyIndex[] = []
  for (const name of (await options.target.list(indexFolder, options.signal)).keys()) {
    const copy = name.slice(0, -'.age'.length)
    if (!name.endsWith('.age') || !isCopyName(copy)) continue
    try {
      const index = await readIndex(copy, options)
      if (index !== null) found.push(index)
    } catch (error) {
      if (!(error instanceof TargetError) || error.code !== 'damaged') throw error
      onUnreadable(error)
    }
  }
  return found
}

/** Null when there is none, or none that was finished. */
export function findCopy(backup: string, options: ReadOptions): Promise<CopyIndex | null> {
  return readIndex(copyName(options.key.identity, backup), options)
}

/** Whether there is an index, readable or not. */
export async function hasCopy(
  backup: string,
  { target, key, signal }: Pick<ReadOptions, 'target' | 'key' | 'signal'>,
): Promise<boolean> {
  return (await target.stat(indexName(copyName(key.identity, backup)), signal)) !== null
}

/** The archive of a copy, as it was sent. Every piece is compared with the index before anything of it is yielded. */
export function readCopy(index: CopyIndex, options: ReadOptions): AsyncGenerator<Buffer> {
  return oneAhead(contents(index, options))
}

async function* contents(index: CopyIndex, { target, key, sealer, signal }: ReadOptions): AsyncGenerator<Buffer> {
  const folder = pieceFolder(copyName(key.identity, index.id))
  for (const [at, piece] of index.pieces.entries()) {
    signal.throwIfAborted()
    const name = `${folder}/${pieceName(at)}`
    const sealed = await target.get(name, piece.bytes, signal)
    if (sealed === null) throw new TargetError('damaged', `${name} is missing on the target.`)
    const { bytes, sha256 } = describe(sealed)
    if (bytes !== piece.bytes || sha256 !== piece.sha256)
      throw new TargetError('damaged', `${name} on the target is not as it was written.`)
    const content = await sealer.decrypt(sealed, key.identity)
    if (content.length !== Math.min(pieceBytes, index.archiveBytes - at * pieceBytes))
      throw new TargetError('damaged', `${name} on the target has another size than its index says.`)
    yield content
  }
}

async function readIndex(name: string, { target, key, sealer, signal }: ReadOptions): Promise<CopyIndex | null> {
  const sealed = await target.get(indexName(name), mostIndexBytes, signal)
  if (sealed === null) return null
  const index = parseIndex(name, (await sealer.decrypt(sealed, key.identity)).toString())
  // Whoever has the target could exchange one for the other.
  if (copyName(key.identity, index.id) !== name)
    throw new TargetError('damaged', `${indexName(name)} is that of another backup.`)
  return index
}

function parseIndex(name: string, text: string): CopyIndex {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new TargetError('damaged', `${indexName(name)} is not JSON.`, { cause: error })
  }
  const { formatVersion } = (value ?? {}) as { readonly formatVersion?: unknown }
  if (typeof formatVersion === 'number' && formatVersion > copyFormatVersion)
    throw new TargetError('damaged', `${indexName(name)} was written by a later version: update Stackquay to read it.`)
  const { data, error } = CopyIndex.safeParse(value)
  if (data === undefined)
    throw new TargetError('damaged', `${indexName(name)} is not as expected at ${error.issues[0]?.path.join('.')}.`)
  if (data.pieces.length !== countPieces(data.archiveBytes))
    throw new TargetError('damaged', `${indexName(name)} does not name all pieces.`)
  return data
}
