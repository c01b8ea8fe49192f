import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import type { InboxAddress, InboxPage, InboxSummary } from '../inbox.ts'
import { inboxLimits } from './inbox-terms.ts'
import { type Digest, searchable } from './read-mail.ts'

export interface Envelope {
  readonly from: string
  readonly to: readonly string[]
}

/** Addresses that come without a name. */
export function strangers(addresses: readonly string[]): InboxAddress[] {
  return addresses.map((address) => ({ name: '', address }))
}

/** How much is kept; the oldest messages go first. */
export interface Retention {
  readonly messages: number
  readonly bytes: number
}

export interface StoredMail {
  readonly summary: InboxSummary
  readonly envelope: Envelope
  readonly path: string
}

export interface MailStore {
  /** Where a message is written while it arrives. Either `keep` or `drop` follows. */
  begin(): Promise<Incoming>
  list(query: { readonly limit: number; readonly before: number | null; readonly words: string }): InboxPage
  find(id: string): StoredMail | null
  mark(id: string, read: boolean): InboxSummary | null
  remove(id: string): Promise<boolean>
  removeAll(): Promise<void>
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

/**
 * Messages as files, and an index of them. A file gets its final name before its row is written and loses it after the row
 * is gone, so a row always has its file; a file without a row was never acknowledged, and is removed at the next start.
 */
export async function openStore(folder: string, retention: Retention): Promise<MailStore> {
  const messages = join(folder, 'messages')
  const incoming = join(folder, 'incoming')
  await mkdir(messages, { recursive: true, mode: 0o700 })
  await mkdir(incoming, { recursive: true, mode: 0o700 })
  const database = openIndex(join(folder, 'inbox.sqlite'))
  await sweep()

  const selected = `SELECT seq, id, received_at, size_bytes, from_name, from_address, recipients, subject, snippet,
    attachment_count, read, envelope FROM message`
  const statements = {
    insert: database.prepare(`INSERT INTO message (id, received_at, size_bytes, from_name, from_address, recipients,
      subject, snippet, attachment_count, read, envelope) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`),
    insertWords: database.prepare('INSERT INTO message_words (seq, words) VALUES (?, ?)'),
    find: database.prepare(`${selected} WHERE id = ?`),
    mark: database.prepare('UPDATE message SET read = ? WHERE id = ?'),
    remove: database.prepare('DELETE FROM message WHERE id = ? RETURNING size_bytes'),
    removeAll: database.prepare('DELETE FROM message RETURNING id'),
    oldest: database.prepare('SELECT id FROM message ORDER BY seq LIMIT 1'),
    count: database.prepare('SELECT count(*) AS count FROM message'),
    unread: database.prepare('SELECT count(*) AS count FROM message WHERE read = 0'),
    bytes: database.prepare('SELECT coalesce(sum(size_bytes), 0) AS count FROM message'),
  }
  const numberOf = (statement: typeof statements.count) => Number(statement.get()?.count)
  let bytes = numberOf(statements.bytes)
  const pathOf = (id: string) => join(messages, `${id}.eml`)

  /** What a crash left: files that were still arriving, or that have no row; and rows whose file is not there. */
  async function sweep(): Promise<void> {
    for (const name of await readdir(incoming)) await rm(join(incoming, name), { force: true })
    const files = new Set(await readdir(messages))
    const rows = database.prepare('SELECT id FROM message').all()
    for (const { id } of rows) {
      if (!files.delete(`${id}.eml`)) database.prepare('DELETE FROM message WHERE id = ?').run(String(id))
    }
    for (const name of files) await rm(join(messages, name), { force: true })
  }

  function insert(id: string, sizeBytes: number, digest: Digest, envelope: Envelope): void {
    database.exec('BEGIN IMMEDIATE')
    try {
      const to = digest.to.length > 0 ? digest.to : strangers(envelope.to)
      const from = digest.from ?? (envelope.from === '' ? null : { name: '', address: envelope.from })
      const { lastInsertRowid } = statements.insert.run(
        id,
        new Date().toISOString(),
        sizeBytes,
        from?.name ?? null,
        from?.address ?? null,
        JSON.stringify(to.slice(0, inboxLimits.listedRecipients)),
        digest.subject,
        digest.snippet,
        digest.attachmentCount,
        JSON.stringify(envelope),
      )
      const words = searchable([envelope.from, ...envelope.to].join('\n'))
      statements.insertWords.run(lastInsertRowid, `${digest.words}\n${words}`)
      database.exec('COMMIT')
      bytes += sizeBytes
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
  }

  async function remove(id: string): Promise<boolean> {
    const row = statements.remove.get(id)
    if (row === undefined) return false
    bytes -= Number(row.size_bytes)
    await rm(pathOf(id), { force: true })
    return true
  }

  async function dropOldest(): Promise<void> {
    // The newest message stays, however large it is.
    while (numberOf(statements.count) > 1) {
      if (numberOf(statements.count) <= retention.messages && bytes <= retention.bytes) return
      const oldest = statements.oldest.get()
      if (oldest === undefined) return
      await remove(String(oldest.id))
    }
  }

  return {
    begin: async () => {
      const id = randomUUID().replaceAll('-', '')
      const path = join(incoming, `${id}.part`)
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
          await rename(path, pathOf(id))
          at = pathOf(id)
          await syncFolder(messages)
          insert(id, sizeBytes, digest, envelope)
          // It is kept: what fails from here on is no reason to tell its sender otherwise.
          await dropOldest().catch((error: Error) => console.error(`Old messages stay for now: ${error.message}`))
        },
        drop: async () => {
          await closed(file)
          await rm(at, { force: true })
        },
      }
    },
    list: ({ limit, before, words }) => {
      const terms = searchable(words).split(' ').filter(Boolean)
      const where = terms.map(() => 'instr(words, ?) > 0').join(' AND ')
      const from = terms.length === 0 ? 'message' : `message JOIN message_words USING (seq)`
      const rows = database
        .prepare(
          `${selected.replace('FROM message', `FROM ${from}`)} WHERE seq < ? ${where && `AND ${where}`} ORDER BY seq DESC LIMIT ?`,
        )
        .all(before ?? Number.MAX_SAFE_INTEGER, ...terms, limit + 1)
      const items = rows.slice(0, limit)
      const total =
        terms.length === 0
          ? numberOf(statements.count)
          : Number(database.prepare(`SELECT count(*) AS count FROM message_words WHERE ${where}`).get(...terms)?.count)
      return {
        items: items.map(summaryOf),
        nextCursor: rows.length > limit ? String(items.at(-1)?.seq) : null,
        total,
        unread: numberOf(statements.unread),
      }
    },
    find: (id) => {
      const row = statements.find.get(id)
      if (row === undefined) return null
      return { summary: summaryOf(row), envelope: JSON.parse(String(row.envelope)) as Envelope, path: pathOf(id) }
    },
    mark: (id, read) => {
      statements.mark.run(read ? 1 : 0, id)
      const row = statements.find.get(id)
      return row === undefined ? null : summaryOf(row)
    },
    remove,
    removeAll: async () => {
      const rows = statements.removeAll.all()
      bytes = numberOf(statements.bytes)
      for (const { id } of rows) await rm(pathOf(String(id)), { force: true })
    },
    close: () => database.close(),
  }
}

const indexVersion = 1

function openIndex(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 2_000 })
  // EXCLUSIVE: a second catcher over the same data would take the first one's arriving messages for leftovers. The lock is
  // the process's own, so a killed one leaves none. FULL: what was committed survives a power cut too.
  database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec('BEGIN IMMEDIATE')
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
  if (version > indexVersion) {
    throw new Error(
      `The inbox was written by a newer release (index ${version}, known is ${indexVersion}). Update first.`,
    )
  }
  database.exec(`
    CREATE TABLE IF NOT EXISTS message (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      received_at TEXT NOT NULL,
      size_bytes INTEGER NOT NULL,
      from_name TEXT,
      from_address TEXT,
      recipients TEXT NOT NULL,
      subject TEXT NOT NULL,
      snippet TEXT NOT NULL,
      attachment_count INTEGER NOT NULL,
      read INTEGER NOT NULL,
      envelope TEXT NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS message_unread ON message (seq) WHERE read = 0;
    CREATE TABLE IF NOT EXISTS message_words (
      seq INTEGER PRIMARY KEY REFERENCES message (seq) ON DELETE CASCADE,
      words TEXT NOT NULL
    ) STRICT;
    PRAGMA user_version = ${indexVersion};
    COMMIT`)
  return database
}

function summaryOf(row: Record<string, SQLOutputValue>): InboxSummary {
  const from = row.from_address === null ? null : { name: String(row.from_name), address: String(row.from_address) }
  return {
    id: String(row.id),
    from,
    to: JSON.parse(String(row.recipients)) as InboxSummary['to'],
    subject: String(row.subject),
    receivedAt: String(row.received_at),
    sizeBytes: Number(row.size_bytes),
    attachmentCount: Number(row.attachment_count),
    read: row.read === 1,
    snippet: String(row.snippet),
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
