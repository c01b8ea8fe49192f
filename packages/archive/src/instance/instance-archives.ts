import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, chmod, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchiveTar, UploadOptions } from '../archive.ts'
import { tarOf } from '../archive-tar.ts'
import { alreadyThere, publish } from '../archive-writer.ts'
import { ArchiveError } from '../error.ts'
import { makeFolder, orNull, readAtMost, removeBackup, storeFile } from '../files.ts'
import { findZstd } from '../find-zstd.ts'
import { manifestFile, mostManifestBytes } from '../manifest.ts'
import { packFile } from '../packer/packer.ts'
import { readAll } from '../read-all.ts'
import { readContent, readStored } from '../read-part.ts'
import { receiveArchive } from '../upload.ts'
import {
  databaseFile,
  InstanceArchiveId,
  type InstanceManifest,
  newInstanceManifest,
  parseInstanceManifest,
} from './instance-manifest.ts'

/** What is said of a backup that is made, beside what is in its database. */
export interface NewInstanceBackup
  extends Pick<InstanceManifest, 'id' | 'createdAt' | 'note' | 'source' | 'stackquayVersion'> {
  /** Writes a copy of the database to the file, which is in a folder that only the service enters. */
  copyTo(file: string): Promise<Pick<InstanceManifest, 'schema' | 'keyId' | 'audit' | 'counts'>>
  /** A keyed checksum with the key of the copy; throws when that is not at hand any more. */
  sign(text: string, keyId: string): string
  readonly signal?: AbortSignal
}

/** The backups of the instance itself. Every method throws `ArchiveError` for what it cannot do. */
export interface InstanceArchives {
  /** There whole when this resolves, and not at all before: killed at any moment, what is left is swept. */
  create(backup: NewInstanceBackup): Promise<InstanceManifest>
  /** Newest first. Those that cannot be read are handed to `onUnreadable` and left out. */
  list(onUnreadable?: (id: string, error: Error) => void): Promise<readonly InstanceManifest[]>
  /** Null when there is none of this id. */
  read(id: string): Promise<InstanceManifest | null>
  remove(id: string): Promise<void>
  /** Removes what killed attempts left, and nothing that this process is writing. */
  sweep(): Promise<void>
  /** Compares what is stored with its checksum. */
  check(id: string, signal?: AbortSignal): Promise<void>
  asTar(id: string): Promise<ArchiveTar>
  /** Takes back what `asTar` wrote. `accept` throws for one that is not to be kept, such as one of another key. */
  upload(
    bytes: AsyncIterable<Uint8Array>,
    options: UploadOptions & { accept(manifest: InstanceManifest): void },
  ): Promise<InstanceManifest>
  /** Writes the database to a new file, which counts only when this resolves. */
  extract(id: string, to: string, signal?: AbortSignal): Promise<InstanceManifest>
}

const unfinishedName = /^\.(ibk_[a-z0-9]{10,40}\.(new|old)|upload-[0-9a-f]{16}\.new)$/

/** A folder for each below `root`, which only the service can enter; the folder is the truth, as with backups of projects. */
export function openInstanceArchives(root: string): InstanceArchives {
  return new FolderOfInstanceArchives(root)
}

class FolderOfInstanceArchives implements InstanceArchives {
  readonly #root: string
  /** Names that this process is writing. */
  readonly #inUse = new Set<string>()

  constructor(root: string) {
    this.#root = root
  }

  async create({ copyTo, sign, signal = new AbortController().signal, ...fields }: NewInstanceBackup) {
    const { id } = fields
    return await this.#fill(`.${id}.new`, async (unfinished) => {
      const copy = join(unfinished, 'stackquay.db')
      const { schema, keyId, audit, counts } = await copyTo(copy)
      const content = createReadStream(copy, { highWaterMark: 1 << 18 })
      const purpose = { zstd: findZstd(), countsTree: false, signal }
      const { tree: _, ...stored } = await packFile(join(unfinished, databaseFile), content, purpose)
      await rm(copy)
      const part = { file: databaseFile, id: 'database', ...stored } as const
      const manifest = newInstanceManifest({ ...fields, schema, keyId, audit, counts, parts: [part] }, sign)
      signal.throwIfAborted()
      await publish({ id, unfinished, finished: join(this.#root, id) }, manifest)
      return manifest
    })
  }

  async upload(
    bytes: AsyncIterable<Uint8Array>,
    { accept, ...options }: UploadOptions & { accept(manifest: InstanceManifest): void },
  ) {
    return await this.#fill(`.upload-${randomBytes(8).toString('hex')}.new`, async (unfinished) => {
      const form = { isPart: (name: string) => name === databaseFile, mostParts: 1, parse: parseInstanceManifest }
      const manifest = await receiveArchive(unfinished, bytes, form, options)
      accept(manifest)
      if ((await this.read(manifest.id)) !== null) throw alreadyThere(manifest.id)
      options.signal.throwIfAborted()
      await publish({ id: manifest.id, unfinished, finished: join(this.#root, manifest.id) }, manifest)
      return manifest
    })
  }

  async list(onUnreadable?: (id: string, error: Error) => void) {
    return readAll((await this.#names()).filter(isId), (id) => this.read(id), onUnreadable)
  }

  async read(id: string) {
    return (await this.#readManifest(id))?.manifest ?? null
  }

  async remove(id: string) {
    if (!isId(id)) return
    const name = `.${id}.old`
    this.#inUse.add(name)
    try {
      await removeBackup(this.#root, id, name)
    } finally {
      this.#inUse.delete(name)
    }
  }

  async sweep() {
    for (const name of await this.#names()) {
      const isRest = unfinishedName.test(name) ? !this.#inUse.has(name) : isId(name) && !(await this.#isBackup(name))
      if (isRest) await rm(join(this.#root, name), { recursive: true, force: true })
    }
  }

  async check(id: string, signal?: AbortSignal) {
    const { manifest } = await this.#known(id)
    for await (const _ of readStored(join(this.#root, id), manifest.parts[0], signal));
  }

  async asTar(id: string) {
    const { manifest, bytes } = await this.#known(id)
    return await tarOf(join(this.#root, id), manifest, bytes)
  }

  async extract(id: string, to: string, signal?: AbortSignal) {
    const { manifest } = await this.#known(id)
    await storeFile(to, readContent(join(this.#root, id), manifest.parts[0], signal))
    return manifest
  }

  /** The folder is gone afterwards, unless it got its name. */
  async #fill<T>(name: string, write: (unfinished: string) => Promise<T>): Promise<T> {
    const unfinished = join(this.#root, name)
    this.#inUse.add(name)
    try {
      await makeFolder(this.#root)
      await chmod(this.#root, 0o700)
      await rm(unfinished, { recursive: true, force: true })
      await makeFolder(unfinished)
      return await write(unfinished)
    } finally {
      await rm(unfinished, { recursive: true, force: true })
      this.#inUse.delete(name)
    }
  }

  async #known(id: string) {
    const known = await this.#readManifest(id)
    if (known === null) throw new ArchiveError('not_found', null, `There is no backup ${id} of the instance.`)
    return known
  }

  async #readManifest(id: string) {
    const bytes = isId(id) ? await readAtMost(join(this.#root, id, manifestFile), mostManifestBytes + 1) : null
    if (bytes === null) return null
    const manifest = parseInstanceManifest(bytes)
    if (manifest.id !== id) throw new ArchiveError('damaged', null, `The manifest is that of ${manifest.id}.`)
    return { manifest, bytes }
  }

  /** Whether there is a manifest, readable or not: what a later version wrote is never swept. */
  async #isBackup(id: string): Promise<boolean> {
    return (await orNull(access(join(this.#root, id, manifestFile)).then(() => true))) === true
  }

  async #names(): Promise<readonly string[]> {
    return (await orNull(readdir(this.#root))) ?? []
  }
}

function isId(name: string): boolean {
  return InstanceArchiveId.safeParse(name).success
}
