import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { AddOptions, ArchiveWriter, ManifestFields, NewPart, PartNotes } from './archive.ts'
import { ArchiveError } from './error.ts'
import { errorCode, makeFolder, oneChunk, type StoredBytes, storeFile, syncFolder, throwAsDiskFull } from './files.ts'
import {
  fileName,
  type Manifest,
  manifestFile,
  mostContentsText,
  mostWarnings,
  mostWarningText,
  type PartEntry,
  type PartForm,
  PartId,
} from './manifest.ts'
import { type Content, packFile } from './packer/packer.ts'
import { newManifest, printManifest } from './read-manifest.ts'

export interface WriterPlace {
  readonly id: string
  /** The folder while it is written, and what it becomes. */
  readonly unfinished: string
  readonly finished: string
  readonly zstd: string | null
  /** Called once, when the folder is no longer written to. */
  released(): void
}

export async function createWriter(place: WriterPlace): Promise<ArchiveWriter> {
  await rm(place.unfinished, { recursive: true, force: true })
  await makeFolder(place.unfinished)
  return new FolderWriter(place)
}

class FolderWriter implements ArchiveWriter {
  readonly id: string
  readonly #place: WriterPlace
  readonly #abandoned = new AbortController()
  readonly #parts = new Map<string, PartEntry>()
  /** Settles with the part that is being written. */
  #writing: Promise<unknown> | null = null
  #open = true

  constructor(place: WriterPlace) {
    this.id = place.id
    this.#place = place
  }

  async add(part: NewPart, content: Content, { onBytes, warnings, ...options }: AddOptions): Promise<PartEntry> {
    const form = `${part.extension}.zst` as const
    const { tree, ...stored } = await this.#write(part, form, (path) =>
      packFile(path, content, {
        zstd: this.#place.zstd,
        countsTree: options.countsTree === true,
        ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
        signal: AbortSignal.any([options.signal, this.#abandoned.signal]),
        ...(onBytes === undefined ? {} : { onBytes }),
      }),
    )
    const entry = this.#keep(part, form, { ...stored, warnings: limited(warnings ?? []) })
    return tree === null ? entry : this.describe(part.id, { contents: { ...tree } })
  }

  async addSealed(part: NewPart, bytes: Uint8Array): Promise<PartEntry> {
    const stored = await this.#write(part, 'json.age', (path) => storeFile(path, oneChunk(bytes)))
    return this.#keep(part, 'json.age', { ...stored, contentBytes: bytes.length, warnings: [] })
  }

  async #write<T>(part: NewPart, form: PartForm, act: (path: string) => Promise<T>): Promise<T> {
    if (!PartId.safeParse(part.id).success) throw new Error(`Not an id of a part: ${part.id}`)
    if (!this.#open) throw new Error(`The backup ${this.id} takes no more parts.`)
    if (this.#writing !== null) throw new Error('Parts are added one after the other.')
    if (this.#parts.has(part.id)) throw new Error(`The part ${part.id} is there already.`)
    const writing = act(join(this.#place.unfinished, fileName(part.id, form)))
    this.#writing = writing
    try {
      return await writing
    } finally {
      this.#writing = null
    }
  }

  #keep(
    { extension: _, ...part }: NewPart,
    form: PartForm,
    stored: StoredBytes & { readonly contentBytes: number; readonly warnings: string[] },
  ): PartEntry {
    const entry: PartEntry = { file: fileName(part.id, form), ...part, ...stored }
    this.#parts.set(part.id, entry)
    return entry
  }

  describe(part: string, notes: PartNotes): PartEntry {
    const entry = this.#parts.get(part)
    if (entry === undefined) throw new Error(`No part ${part} was added.`)
    const { warnings = [], contents, ...rest } = notes
    const tooMuch = contents !== undefined && JSON.stringify(contents).length > mostContentsText
    const described = {
      ...entry,
      ...rest,
      ...(contents === undefined || tooMuch ? {} : { contents }),
      warnings: limited([
        ...entry.warnings,
        ...(tooMuch ? ['What was counted in it is too much to be kept.'] : []),
        ...warnings,
      ]),
    }
    this.#parts.set(part, described)
    return described
  }

  async finish(fields: ManifestFields): Promise<Manifest> {
    if (!this.#open || this.#writing !== null) throw new Error(`The backup ${this.id} cannot be finished now.`)
    const manifest = newManifest(this.id, fields, [...this.#parts.values()])
    await publish(this.#place, manifest)
    this.#open = false
    this.#place.released()
    return manifest
  }

  async abandon(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    this.#abandoned.abort()
    await this.#writing?.catch(() => {})
    await rm(this.#place.unfinished, { recursive: true, force: true })
    this.#place.released()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.abandon()
  }
}

/** A backup does not fail because there is much to say of it. */
function limited(warnings: readonly string[]): string[] {
  const kept = warnings.slice(0, warnings.length > mostWarnings ? mostWarnings - 1 : mostWarnings)
  const more = warnings.length - kept.length
  return [...kept.map((warning) => warning.slice(0, mostWarningText)), ...(more > 0 ? [`And ${more} more.`] : [])]
}

/** The manifest last, everything on the disk, then the name: a folder of that name with a manifest is a whole backup. */
export async function publish(
  { id, unfinished, finished }: Pick<WriterPlace, 'id' | 'unfinished' | 'finished'>,
  manifest: object,
): Promise<void> {
  await storeFile(join(unfinished, manifestFile), oneChunk(Buffer.from(printManifest(manifest))))
  await syncFolder(unfinished)
  try {
    await rename(unfinished, finished)
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) throw alreadyThere(id)
    throwAsDiskFull(error)
  }
  await syncFolder(dirname(finished))
}

export function alreadyThere(id: string): ArchiveError {
  return new ArchiveError('exists', null, `A backup ${id} is there already. Delete it first, or keep it.`)
}
