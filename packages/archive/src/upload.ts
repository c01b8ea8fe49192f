import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { extract, type Headers } from 'tar-stream'
import type { UploadOptions } from './archive.ts'
import { publish } from './archive-writer.ts'
import { ArchiveError } from './error.ts'
import { makeFolder, type StoredBytes, storeFile } from './files.ts'
import {
  type Manifest,
  manifestFile,
  mostManifestBytes,
  mostParts,
  partFilePattern,
  type StoredPart,
} from './manifest.ts'
import { newManifest, parseManifest } from './read-manifest.ts'
import { damaged } from './read-part.ts'
import { untilAborted } from './until-aborted.ts'

/**
 * How much may have come that is not yet known to be content of a file: headers, what fills up blocks, and what is on its way. The
 * library keeps a header of any size in memory; with this limit it never gets one.
 */
const mostBetweenFiles = 2 << 20
/** Small against that limit, however large the chunks of the source are. */
const pieceBytes = 64 << 10

/**
 * Reads an archive that anybody may have made. Files are stored by names that follow from ids of parts, and only when the manifest
 * has come and names each of them with size and checksum does the backup get its name.
 */
export async function receiveUpload(
  root: string,
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  options: UploadOptions,
): Promise<Manifest> {
  const unfinished = join(root, name)
  await makeFolder(unfinished)
  try {
    const manifest = await receiveArchive(unfinished, bytes, form, options)
    const { format: _, formatVersion: __, id, parts, ...fields } = manifest
    const uploaded = newManifest(id, { ...fields, source: 'upload' }, parts)
    options.signal.throwIfAborted()
    await publish({ id, unfinished, finished: join(root, id) }, uploaded)
    return uploaded
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

/** What an archive of one kind may hold. */
export interface ArchiveForm<M extends ManifestOfParts> {
  isPart(name: string): boolean
  readonly mostParts: number
  parse(manifest: Buffer): M
}

interface ManifestOfParts {
  readonly parts: readonly StoredPart[]
}

const form: ArchiveForm<Manifest> = {
  isPart: (name) => partFilePattern.test(name),
  mostParts,
  parse: parseManifest,
}

/** Stores the parts in `folder` and answers the manifest, when it names exactly these, each with its size and checksum. */
export async function receiveArchive<M extends ManifestOfParts>(
  folder: string,
  bytes: AsyncIterable<Uint8Array>,
  form: ArchiveForm<M>,
  { signal, maxBytes = Number.MAX_SAFE_INTEGER }: UploadOptions,
): Promise<M> {
  const archive = new CountedArchive(untilAborted(bytes, signal), maxBytes)
  const files = new Map<string, StoredBytes>()
  let manifest: M | null = null
  try {
    for await (const { header, content } of archive.entries()) {
      if (manifest !== null) throw invalid('the manifest is not its last file')
      refuseOther(header, archive.left, form)
      if (header.name === manifestFile) manifest = form.parse(await readManifest(header.size ?? 0, content))
      else if (files.size === form.mostParts) throw invalid('it has too many files')
      else if (files.has(header.name)) throw invalid(`${header.name} is in it twice`)
      else files.set(header.name, await storeFile(join(folder, header.name), content))
    }
  } catch (error) {
    throw archive.sourceError ?? (isToldByUs(error) ? error : invalid('it is no tar archive, or not whole', error))
  }
  if (manifest === null) throw invalid('it has no manifest, so it ended too early or is no backup')
  compare(manifest, files)
  return manifest
}

/** Ours, or one of the system: the library has no codes. */
function isToldByUs(error: unknown): boolean {
  return error instanceof ArchiveError || (error as NodeJS.ErrnoException).syscall !== undefined
}

/** The entries of a tar archive, with limits for what the library does not limit. */
class CountedArchive {
  readonly #bytes: AsyncIterable<Uint8Array>
  readonly #maxBytes: number
  #received = 0
  #ofFiles = 0
  sourceError: unknown = null

  constructor(bytes: AsyncIterable<Uint8Array>, maxBytes: number) {
    this.#bytes = bytes
    this.#maxBytes = maxBytes
  }

  /** What may still be in files. */
  get left(): number {
    return this.#maxBytes - this.#ofFiles
  }

  async *entries(): AsyncGenerator<{ readonly header: Headers; readonly content: AsyncIterable<Buffer> }> {
    const archive = extract()
    // An error of the source is thrown to the caller that asks for the next entry, or for more of a content.
    pipeline(this.#limited(), archive, () => {})
    for await (const entry of archive)
      yield { header: entry.header, content: this.#counted(entry as AsyncIterable<Buffer>) }
  }

  async *#limited(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of this.#bytes)
        for (let at = 0; at < chunk.length; at += pieceBytes) {
          const piece = chunk.subarray(at, at + pieceBytes)
          this.#received += piece.length
          if (this.#received > this.#maxBytes) throw tooLarge()
          if (this.#received - this.#ofFiles > mostBetweenFiles) throw invalid('it has a header that is too large')
          yield piece
        }
    } catch (error) {
      this.sourceError = error
      throw error
    }
  }

  async *#counted(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of content) {
      this.#ofFiles += chunk.length
      yield chunk
    }
  }
}

function refuseOther(
  { name, type, size }: Headers,
  left: number,
  { isPart }: Pick<ArchiveForm<ManifestOfParts>, 'isPart'>,
): void {
  const shown = JSON.stringify(name.slice(0, 100))
  if (type !== 'file') throw invalid(`${shown} is no plain file`)
  if (name !== manifestFile && !isPart(name)) throw invalid(`${shown} is no file of a backup`)
  if (!Number.isSafeInteger(size) || size! < 0) throw invalid(`${shown} has no size`)
  if (size! > left) throw tooLarge()
}

async function readManifest(size: number, content: AsyncIterable<Buffer>): Promise<Buffer> {
  if (size > mostManifestBytes) throw invalid('its manifest is too large')
  return Buffer.concat(await Array.fromAsync(content))
}

/** Exactly the files that the manifest names, each as it says. */
function compare({ parts }: ManifestOfParts, files: ReadonlyMap<string, StoredBytes>): void {
  const extra = [...files.keys()].find((file) => !parts.some((part) => part.file === file))
  if (extra !== undefined) throw invalid(`its manifest does not name ${extra}`)
  for (const part of parts) {
    const file = files.get(part.file)
    if (file === undefined) throw damaged(part, 'its file is missing')
    if (file.bytes !== part.bytes)
      throw damaged(part, `it has ${file.bytes} bytes, not the ${part.bytes} that the manifest names`)
    if (file.sha256 !== part.sha256) throw damaged(part, 'its checksum is not the one that the manifest names')
  }
}

function invalid(detail: string, cause?: unknown): ArchiveError {
  return new ArchiveError('invalid', null, `This is no archive of a backup: ${detail}.`, { cause })
}

function tooLarge(): ArchiveError {
  return new ArchiveError('too_large', null, 'The archive is larger than what is taken here.')
}
