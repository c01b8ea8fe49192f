import { randomBytes } from 'node:crypto'
import { access, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchiveFolder, ArchiveFolderOptions, ArchiveTar, ArchiveWriter, UploadOptions } from './archive.ts'
import { tarOf } from './archive-tar.ts'
import { alreadyThere, createWriter } from './archive-writer.ts'
import { ArchiveError } from './error.ts'
import { makeFolder, oneChunk, orNull, readAtMost, removeBackup, storeFile, syncFolder } from './files.ts'
import { findZstd } from './find-zstd.ts'
import { ArchiveId, type Manifest, manifestFile, mostManifestBytes, type PartEntry } from './manifest.ts'
import { readAll } from './read-all.ts'
import { parseManifest, printManifest } from './read-manifest.ts'
import { readContent, readStored } from './read-part.ts'
import { receiveUpload } from './upload.ts'

/** Names of what is no backup yet, or no longer. */
const unfinishedName = /^\.(bak_[a-z0-9]{10,40}\.(new|old)|upload-[0-9a-f]{16}\.new)$/

/** The backups below `root`, which only the service can enter. It is made when the first backup is. */
export function openArchiveFolder(root: string, options: ArchiveFolderOptions = {}): ArchiveFolder {
  return new FolderOfArchives(root, options)
}

class FolderOfArchives implements ArchiveFolder {
  readonly #root: string
  readonly #options: ArchiveFolderOptions
  /** Names that this process is writing. */
  readonly #inUse = new Set<string>()

  constructor(root: string, options: ArchiveFolderOptions) {
    this.#root = root
    this.#options = options
  }

  async create(id: string): Promise<ArchiveWriter> {
    if (!isId(id)) throw new Error(`Not an id of a backup: ${id}`)
    const name = `.${id}.new`
    if (this.#inUse.has(name)) throw new Error(`The backup ${id} is being made already.`)
    const released = this.#use(name)
    try {
      await makeFolder(this.#root)
      if (await this.#isBackup(id)) throw alreadyThere(id)
      await rm(join(this.#root, id), { recursive: true, force: true })
      const { zstd = findZstd() } = this.#options
      return await createWriter({ id, unfinished: join(this.#root, name), finished: this.#path(id), zstd, released })
    } catch (error) {
      released()
      throw error
    }
  }

  async upload(bytes: AsyncIterable<Uint8Array>, options: UploadOptions): Promise<Manifest> {
    const name = `.upload-${randomBytes(8).toString('hex')}.new`
    const released = this.#use(name)
    try {
      await makeFolder(this.#root)
      return await receiveUpload(this.#root, name, bytes, options)
    } finally {
      released()
    }
  }

  async list(onUnreadable?: (id: string, error: Error) => void): Promise<readonly Manifest[]> {
    return readAll((await this.#names()).filter(isId), (id) => this.read(id), onUnreadable)
  }

  async read(id: string): Promise<Manifest | null> {
    return (await this.#readManifest(id))?.manifest ?? null
  }

  async remove(id: string): Promise<void> {
    if (!isId(id)) return
    const name = `.${id}.old`
    const released = this.#use(name)
    try {
      await removeBackup(this.#root, id, name)
    } finally {
      released()
    }
  }

  async sweep(): Promise<readonly string[]> {
    const removed: string[] = []
    for (const name of await this.#names()) {
      const isRest = unfinishedName.test(name) ? !this.#inUse.has(name) : isId(name) && !(await this.#isBackup(name))
      if (!isRest) continue
      await rm(join(this.#root, name), { recursive: true, force: true })
      removed.push(name)
    }
    return removed
  }

  async check(id: string, parts?: readonly string[], signal?: AbortSignal): Promise<void> {
    const { manifest } = await this.#known(id)
    for (const entry of parts?.map((part) => partOf(manifest, part)) ?? manifest.parts)
      for await (const _ of readStored(this.#path(id), entry, signal));
  }

  async *open(id: string, part: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
    const { manifest } = await this.#known(id)
    yield* readContent(this.#path(id), partOf(manifest, part), signal)
  }

  async *openStored(id: string, part: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
    const { manifest } = await this.#known(id)
    yield* readStored(this.#path(id), partOf(manifest, part), signal)
  }

  async asTar(id: string): Promise<ArchiveTar> {
    const { manifest, bytes } = await this.#known(id)
    return await tarOf(this.#path(id), manifest, bytes)
  }

  async rekey(id: string, key: NonNullable<Manifest['key']>): Promise<Manifest> {
    const { manifest } = await this.#known(id)
    const rekeyed = { ...manifest, key }
    const beside = join(this.#path(id), `${manifestFile}.new`)
    await rm(beside, { force: true })
    await storeFile(beside, oneChunk(Buffer.from(printManifest(rekeyed))))
    await rename(beside, join(this.#path(id), manifestFile))
    await syncFolder(this.#path(id))
    return rekeyed
  }

  async #known(id: string): Promise<{ readonly manifest: Manifest; readonly bytes: Buffer }> {
    const known = await this.#readManifest(id)
    if (known === null) throw new ArchiveError('not_found', null, `There is no backup ${id}.`)
    return known
  }

  async #readManifest(id: string) {
    const bytes = isId(id) ? await readAtMost(join(this.#path(id), manifestFile), mostManifestBytes + 1) : null
    if (bytes === null) return null
    const manifest = parseManifest(bytes)
    if (manifest.id !== id) throw new ArchiveError('damaged', null, `The manifest is that of ${manifest.id}.`)
    return { manifest, bytes }
  }

  /** Whether there is a manifest, readable or not: what a later version wrote is never swept. */
  async #isBackup(id: string): Promise<boolean> {
    return (await orNull(access(join(this.#path(id), manifestFile)).then(() => true))) === true
  }

  async #names(): Promise<readonly string[]> {
    return (await orNull(readdir(this.#root))) ?? []
  }

  #path(id: string): string {
    return join(this.#root, id)
  }

  #use(name: string): () => void {
    this.#inUse.add(name)
    return () => {
      this.#inUse.delete(name)
    }
  }
}

function isId(name: string): boolean {
  return ArchiveId.safeParse(name).success
}

function partOf(manifest: Manifest, part: string): PartEntry {
  const entry = manifest.parts.find(({ id }) => id === part)
  if (entry === undefined) throw new ArchiveError('not_found', part, 'The backup has no such part.')
  return entry
}
