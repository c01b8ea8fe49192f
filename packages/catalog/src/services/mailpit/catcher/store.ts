import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { InboxPage, InboxSummary } from '../inbox.ts'
import {
  type Envelope,
  type IndexedMail,
  type MailQuery,
  type MessageIndex,
  openMessageIndex,
} from './message-index.ts'
import type { Digest } from './read-mail.ts'
import { type TarFile, tarOf } from './tar-files.ts'

/** How much is kept; the oldest messages go first. */
export interface Retention {
  readonly messages: number
  readonly bytes: number
}

export interface StoredMail extends IndexedMail {
  readonly path: string
}

export interface MailStore {
  /** Opens the file of a message that arrives. Either `keep` or `drop` follows. */
  begin(): Promise<Incoming>
  list(query: MailQuery): InboxPage
  ids(): readonly string[]
  find(id: string): StoredMail | null
  mark(id: string, read: boolean): InboxSummary | null
  remove(id: string): Promise<boolean>
  removeAll(): Promise<void>
  /** A tar of the folder as of one moment: the index and the messages in it. None of them is removed before `release`. */
  copy(): Promise<{ chunks(): AsyncIterable<Buffer>; release(): Promise<void> }>
  close(): void
}

export interface Incoming {
  readonly path: string
  write(chunk: Buffer): Promise<void>
  /** Resolves when the bytes are on the disk. */
  finish(): Promise<void>
  /** Resolves when the message will be there after any crash. */
  keep(digest: Digest, envelope: Envelope): Promise<void>
  drop(): Promise<void>
}

interface Folders {
  readonly messages: string
  readonly incoming: string
}

/**
 * Messages as files, and an index of them. A file gets its final name before its row is written and loses it after the row
 * is gone, so a row always has its file; a file without a row was never acknowledged, and is removed at the next start.
 */
export async function openStore(folder: string, retention: Retention): Promise<MailStore> {
  const folders = { messages: join(folder, 'messages'), incoming: join(folder, 'incoming') }
  await mkdir(folders.messages, { recursive: true, mode: 0o700 })
  await mkdir(folders.incoming, { recursive: true, mode: 0o700 })
  const index = openMessageIndex(join(folder, 'inbox.sqlite'))
  await sweep(folders, index)
  const pathOf = (id: string) => join(folders.messages, `${id}.eml`)

  /** Removed, but still wanted by who makes a copy. */
  const held = new Set<string>()
  let copies = 0

  async function removeFile(id: string): Promise<void> {
    if (copies > 0) held.add(id)
    else await rm(pathOf(id), { force: true })
  }

  async function remove(id: string): Promise<boolean> {
    if (!index.remove(id)) return false
    await removeFile(id)
    return true
  }

  async function dropOldest(): Promise<void> {
    // The newest message stays, however large it is.
    for (let count = index.count(); count > 1; count = index.count()) {
      if (count <= retention.messages && index.bytes() <= retention.bytes) return
      const oldest = index.oldest()
      if (oldest === null) return
      await remove(oldest)
    }
  }

  return {
    begin: () =>
      receive(folders, async (id, sizeBytes, digest, envelope) => {
        index.insert(id, sizeBytes, digest, envelope)
        // The message is kept: a later failure must not tell its sender otherwise.
        await dropOldest().catch((error: Error) => console.error(`Old messages stay for now: ${error.message}`))
      }),
    list: index.list,
    ids: index.ids,
    find: (id) => {
      const found = index.find(id)
      return found === null ? null : { ...found, path: pathOf(id) }
    },
    mark: index.mark,
    remove,
    removeAll: async () => {
      for (const id of index.removeAll()) await removeFile(id)
    },
    copy: async () => {
      copies += 1
      const file = join(folders.incoming, `${randomUUID()}.sqlite`)
      const release = async () => {
        await rm(file, { force: true })
        copies -= 1
        if (copies > 0) return
        for (const id of held) await rm(pathOf(id), { force: true })
        held.clear()
      }
      try {
        await index.copyTo(file)
      } catch (error) {
        await release()
        throw error
      }
      return { chunks: () => tarOf(filesOf(file, pathOf)), release }
    },
    close: index.close,
  }
}

function* filesOf(copy: string, pathOf: (id: string) => string): Generator<TarFile> {
  const database = new DatabaseSync(copy)
  try {
    // No further file belongs to it then.
    database.exec('PRAGMA journal_mode = DELETE')
    yield { name: 'inbox.sqlite', path: copy }
    const ids = database.prepare('SELECT id FROM message').iterate()
    for (const { id } of ids) yield { name: `messages/${id}.eml`, path: pathOf(String(id)) }
  } finally {
    database.close()
  }
}

/** Removes the rest of a crash: files that were still arriving or have no row, and rows whose file is gone. */
async function sweep({ messages, incoming }: Folders, index: MessageIndex): Promise<void> {
  for (const name of await readdir(incoming)) await rm(join(incoming, name), { force: true })
  const files = new Set(await readdir(messages))
  for (const id of index.ids()) if (!files.delete(`${id}.eml`)) index.remove(id)
  for (const name of files) await rm(join(messages, name), { force: true })
}

async function receive(
  { messages, incoming }: Folders,
  kept: (id: string, sizeBytes: number, digest: Digest, envelope: Envelope) => Promise<void>,
): Promise<Incoming> {
  const id = randomUUID().replaceAll('-', '')
  const path = join(incoming, `${id}.part`)
  const final = join(messages, `${id}.eml`)
  const file = await open(path, 'wx', 0o600)
  let sizeBytes = 0
  let at = path
  return {
    path,
    write: async (chunk) => {
      await file.appendFile(chunk)
      sizeBytes += chunk.length
    },
    finish: async () => {
      await file.sync()
      await file.close()
    },
    keep: async (digest, envelope) => {
      await rename(path, final)
      at = final
      await syncFolder(messages)
      await kept(id, sizeBytes, digest, envelope)
    },
    drop: async () => {
      await closed(file)
      await rm(at, { force: true })
    },
  }
}

/** A new name is on the disk when its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

async function closed(file: FileHandle): Promise<void> {
  await file.close().catch(() => {})
}
