import type { Sealer } from './age/sealer.ts'
import {
  type CopyIndex,
  copyFormatVersion,
  copyName,
  countPieces,
  indexFolder,
  indexName,
  isCopyName,
  type Piece,
  pieceBytes,
  pieceFolder,
  pieceName,
  piecesFolder,
} from './copy-format.ts'
import { oneAhead } from './one-ahead.ts'
import { describe, putChecked } from './put-checked.ts'
import { type Target, TargetError } from './target.ts'
import type { TargetKey } from './target-key.ts'

/** A backup that is to be copied: one archive, the same bytes every time. */
export interface CopySource {
  readonly id: string
  readonly size: number
  read(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array>
  readonly manifest: CopyIndex['manifest']
  /** Opens its settings; null where nobody here has it. */
  readonly identity: string | null
  /** Who copies it, and whether for a schedule: what a later deletion goes by. */
  readonly instance: string
  readonly bySchedule: boolean
}

export interface SendOptions {
  readonly target: Target
  readonly key: TargetKey
  readonly sealer: Sealer
  /** Pieces that an earlier attempt sent and read back, by their number. */
  readonly sent: ReadonlyMap<number, Piece>
  /** Before the first piece is sent: from here on there is no whole copy until the end. */
  onFirst(): Promise<void>
  /** A piece is on the target and was read back. Awaited, so that it is not sent again after a kill. */
  onPiece(at: number, piece: Piece): Promise<void>
  /** How many bytes of the archive are there. */
  onBytes(bytes: number): void
  readonly now: () => Date
  readonly signal: AbortSignal
}

/** Sends what is not there yet, piece by piece, each read back; the index last. Done twice is the same as done once. */
export async function sendCopy(source: CopySource, options: SendOptions): Promise<CopyIndex> {
  const { target, key, sealer, signal } = options
  const name = copyName(key.identity, source.id)
  const there = await target.list(pieceFolder(name), signal)
  await requireRoom(source, there, options)
  const pieces = await sendPieces(source, name, there, options)
  // Of an earlier attempt with a longer archive. Whoever puts all pieces together takes these for a part of it.
  const names = new Set(pieces.map((_, at) => pieceName(at)))
  for (const left of there.keys()) if (!names.has(left)) await target.remove(`${pieceFolder(name)}/${left}`, signal)

  await requireAll(name, pieces, options)
  const index: CopyIndex = {
    format: 'stackquay-copy',
    formatVersion: copyFormatVersion,
    id: source.id,
    instance: source.instance,
    bySchedule: source.bySchedule,
    copiedAt: options.now().toISOString(),
    identity: source.identity,
    archiveBytes: source.size,
    pieceBytes,
    pieces,
    manifest: source.manifest,
  }
  const printed = Buffer.from(`${JSON.stringify(index, null, 2)}\n`)
  await putChecked(target, indexName(name), await sealer.encrypt(printed, key.recipient), signal)
  return index
}

async function sendPieces(
  source: CopySource,
  name: string,
  there: ReadonlyMap<string, number>,
  options: SendOptions,
): Promise<Piece[]> {
  const { target, onFirst, onPiece, onBytes, signal } = options
  const pieces: Piece[] = []
  let isFirst = true
  for await (const { at, before, contentSha256, sealed } of oneAhead(prepared(source, there, options))) {
    signal.throwIfAborted()
    if (sealed === null) pieces.push(before)
    else {
      if (isFirst) await onFirst()
      // An index never names a piece that is another one by now. Without one nothing is deleted: the right to may be missing.
      if (isFirst && (await target.stat(indexName(name), signal)) !== null) await removeIndex(name, target, signal)
      isFirst = false
      const stored = await putChecked(target, `${pieceFolder(name)}/${pieceName(at)}`, sealed, signal)
      const piece = { ...stored, contentSha256 }
      await onPiece(at, piece)
      pieces.push(piece)
    }
    onBytes(Math.min((at + 1) * pieceBytes, source.size))
  }
  return pieces
}

type Prepared = { readonly at: number; readonly contentSha256: string } & (
  | { readonly sealed: Uint8Array; readonly before: null }
  /** It is there already. */
  | { readonly sealed: null; readonly before: Piece }
)

async function* prepared(
  source: CopySource,
  there: ReadonlyMap<string, number>,
  { key, sealer, sent, signal }: SendOptions,
): AsyncGenerator<Prepared> {
  for (let at = 0; at < countPieces(source.size); at += 1) {
    signal.throwIfAborted()
    const [from, to] = [at * pieceBytes, Math.min((at + 1) * pieceBytes, source.size)]
    const content = await readRange(source, from, to, signal)
    const contentSha256 = describe(content).sha256
    const before = sent.get(at)
    if (before?.contentSha256 === contentSha256 && there.get(pieceName(at)) === before.bytes)
      yield { at, contentSha256, sealed: null, before }
    else yield { at, contentSha256, sealed: await sealer.encrypt(content, key.recipient), before: null }
  }
}

/** What an earlier attempt sent may have gone since: another instance takes it for abandoned when it is old. */
async function requireAll(
  name: string,
  pieces: readonly Piece[],
  { target, signal }: Pick<SendOptions, 'target' | 'signal'>,
): Promise<void> {
  const there = await target.list(pieceFolder(name), signal)
  const at = pieces.findIndex(({ bytes }, number) => there.get(pieceName(number)) !== bytes)
  if (at === -1) return
  throw new TargetError('not_kept', `Piece ${at} of ${pieces.length} is not on the target any more. Copy it again.`)
}

/** Removes all that there is of a copy, whole or not. First the index: what is left of the rest is no copy. */
export async function removeCopy(backup: string, options: RemoveOptions): Promise<void> {
  const { target, key, signal } = options
  const name = copyName(key.identity, backup)
  if ((await target.stat(indexName(name), signal)) !== null) await removeIndex(name, target, signal)
  await removePieces(name, options)
}

/** Removes the pieces of what is no copy. Where an index is, another one made it a copy meanwhile: then nothing is removed. */
export async function removeLeftover(backup: string, options: RemoveOptions): Promise<void> {
  const { target, key, signal } = options
  const name = copyName(key.identity, backup)
  if ((await target.stat(indexName(name), signal)) === null) await removePieces(name, options)
}

/** After so long nobody goes on with a copy. */
const abandonedMs = 7 * 24 * 3_600_000

/**
 * Removes pieces of copies that were never finished, of whichever instance: one that was lost cannot do it. `copied`: a backup that has just
 * been copied there. How old a piece is, is told from the pieces of that one, so that only the target's own clock counts. Answers of how many
 * copies something was removed.
 */
export async function removeAbandoned(copied: string, options: RemoveOptions): Promise<number> {
  const { target, key, signal } = options
  const now = await target.changedAt(pieceFolder(copyName(key.identity, copied)), signal)
  if (now === null) return 0
  const indexes = await target.list(indexFolder, signal)
  const isWhole = (copy: string) => indexes.has(indexName(copy).slice(indexFolder.length + 1))
  let removed = 0
  for (const copy of (await target.folders(piecesFolder, signal)).filter(isCopyName)) {
    if (isWhole(copy)) continue
    const changedAt = await target.changedAt(pieceFolder(copy), signal)
    if (changedAt === null || now - changedAt < abandonedMs) continue
    if (await removeUnlessWhole(copy, options)) removed += 1
  }
  return removed
}

/** Another instance may finish the copy at this moment: then what is there stays, and that one tells what is missing (`requireAll`). */
async function removeUnlessWhole(name: string, { target, signal }: RemoveOptions): Promise<boolean> {
  for (const piece of (await target.list(pieceFolder(name), signal)).keys()) {
    if ((await target.stat(indexName(name), signal)) !== null) return false
    await target.remove(`${pieceFolder(name)}/${piece}`, signal)
  }
  return true
}

type RemoveOptions = Pick<SendOptions, 'target' | 'key' | 'signal'>

async function removePieces(name: string, { target, signal }: RemoveOptions): Promise<void> {
  for (const piece of (await target.list(pieceFolder(name), signal)).keys())
    await target.remove(`${pieceFolder(name)}/${piece}`, signal)
}

/** A place that keeps what is deleted would go on showing a copy whose pieces are gone. */
async function removeIndex(name: string, target: Target, signal: AbortSignal): Promise<void> {
  await target.remove(indexName(name), signal)
  if ((await target.stat(indexName(name), signal)) === null) return
  throw new TargetError('refused', 'The target keeps what is deleted: the right to delete is missing.')
}

/** Told before anything is sent, where the target can say. */
async function requireRoom(
  { size }: CopySource,
  there: ReadonlyMap<string, number>,
  { target, signal }: SendOptions,
): Promise<void> {
  const free = await target.freeBytes(signal)
  const stored = [...there.values()].reduce((sum, bytes) => sum + bytes, 0)
  // What age adds is less than a hundredth.
  const needed = Math.max(0, Math.ceil(size * 1.01) - stored)
  if (free !== null && needed > free)
    throw new TargetError('full', `The copy needs ${needed} bytes, and the target has ${free} free.`)
}

async function readRange(source: CopySource, from: number, to: number, signal: AbortSignal): Promise<Uint8Array> {
  const bytes = new Uint8Array(to - from)
  let filled = 0
  for await (const chunk of source.read(from, to, signal)) {
    bytes.set(chunk, filled)
    filled += chunk.length
  }
  if (filled !== bytes.length) throw new Error(`The archive of ${source.id} is shorter than it says.`)
  return bytes
}
