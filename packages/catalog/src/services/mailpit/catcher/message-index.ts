import { backup, DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import type { InboxAddress, InboxPage, InboxSummary } from '../inbox.ts'
import { inboxLimits } from './inbox-terms.ts'
import { type Digest, searchable } from './read-mail.ts'

export interface Envelope {
  readonly from: string
  readonly to: readonly string[]
}

export interface IndexedMail {
  readonly summary: InboxSummary
  readonly envelope: Envelope
}

export interface MailQuery {
  readonly limit: number
  readonly before: number | null
  readonly words: string
}

/** One row for each message that is kept. */
export interface MessageIndex {
  /** Of all messages. */
  bytes(): number
  count(): number
  ids(): readonly string[]
  insert(id: string, sizeBytes: number, digest: Digest, envelope: Envelope): void
  list(query: MailQuery): InboxPage
  find(id: string): IndexedMail | null
  mark(id: string, read: boolean): InboxSummary | null
  oldest(): string | null
  /** False when there is no such message. */
  remove(id: string): boolean
  /** Answers the ids that it removed. */
  removeAll(): readonly string[]
  /** A whole copy as of one moment, in a new file. */
  copyTo(file: string): Promise<void>
  close(): void
}

/** Addresses that come without a name. */
export function strangers(addresses: readonly string[]): InboxAddress[] {
  return addresses.map((address) => ({ name: '', address }))
}

export function openMessageIndex(path: string): MessageIndex {
  const database = openDatabase(path)
  const statements = statementsOf(database)
  const numberOf = (statement: typeof statements.count) => Number(statement.get()?.count)
  let bytes = numberOf(statements.bytes)

  return {
    bytes: () => bytes,
    count: () => numberOf(statements.count),
    ids: () => statements.ids.all().map(({ id }) => String(id)),
    insert: (id, sizeBytes, digest, envelope) => {
      database.exec('BEGIN IMMEDIATE')
      try {
        const { lastInsertRowid } = statements.insert.run(...rowOf(id, sizeBytes, digest, envelope))
        const words = searchable([envelope.from, ...envelope.to].join('\n'))
        statements.insertWords.run(lastInsertRowid, `${digest.words}\n${words}`)
        database.exec('COMMIT')
        bytes += sizeBytes
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK')
        throw error
      }
    },
    list: (query) => ({
      ...searched(database, query, () => numberOf(statements.count)),
      unread: numberOf(statements.unread),
    }),
    find: (id) => {
      const row = statements.find.get(id)
      if (row === undefined) return null
      return { summary: summaryOf(row), envelope: JSON.parse(String(row.envelope)) as Envelope }
    },
    mark: (id, read) => {
      statements.mark.run(read ? 1 : 0, id)
      const row = statements.find.get(id)
      return row === undefined ? null : summaryOf(row)
    },
    oldest: () => {
      const row = statements.oldest.get()
      return row === undefined ? null : String(row.id)
    },
    remove: (id) => {
      const row = statements.remove.get(id)
      if (row === undefined) return false
      bytes -= Number(row.size_bytes)
      return true
    },
    removeAll: () => {
      const rows = statements.removeAll.all()
      bytes = numberOf(statements.bytes)
      return rows.map(({ id }) => String(id))
    },
    copyTo: async (file) => {
      await backup(database, file)
    },
    close: () => database.close(),
  }
}

const selected = `SELECT seq, id, received_at, size_bytes, from_name, from_address, recipients, subject, snippet,
  attachment_count, read, envelope FROM message`

function statementsOf(database: DatabaseSync) {
  return {
    insert: database.prepare(`INSERT INTO message (id, received_at, size_bytes, from_name, from_address, recipients,
      subject, snippet, attachment_count, read, envelope) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`),
    insertWords: database.prepare('INSERT INTO message_words (seq, words) VALUES (?, ?)'),
    find: database.prepare(`${selected} WHERE id = ?`),
    mark: database.prepare('UPDATE message SET read = ? WHERE id = ?'),
    remove: database.prepare('DELETE FROM message WHERE id = ? RETURNING size_bytes'),
    removeAll: database.prepare('DELETE FROM message RETURNING id'),
    ids: database.prepare('SELECT id FROM message ORDER BY id'),
    oldest: database.prepare('SELECT id FROM message ORDER BY seq LIMIT 1'),
    count: database.prepare('SELECT count(*) AS count FROM message'),
    unread: database.prepare('SELECT count(*) AS count FROM message WHERE read = 0'),
    bytes: database.prepare('SELECT coalesce(sum(size_bytes), 0) AS count FROM message'),
  }
}

/** Newest first, the messages that contain every word. */
function searched(
  database: DatabaseSync,
  { limit, before, words }: MailQuery,
  countAll: () => number,
): Omit<InboxPage, 'unread'> {
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
      ? countAll()
      : Number(database.prepare(`SELECT count(*) AS count FROM message_words WHERE ${where}`).get(...terms)?.count)
  return {
    items: items.map(summaryOf),
    nextCursor: rows.length > limit ? String(items.at(-1)?.seq) : null,
    total,
  }
}

const indexVersion = 1

function openDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 2_000 })
  // EXCLUSIVE: a second catcher over the same data would take the first one's arriving messages for leftovers. The lock
  // belongs to the process, so a killed one leaves none. FULL: a commit survives a power cut too.
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

function rowOf(id: string, sizeBytes: number, digest: Digest, envelope: Envelope) {
  const to = digest.to.length > 0 ? digest.to : strangers(envelope.to)
  const from = digest.from ?? (envelope.from === '' ? null : { name: '', address: envelope.from })
  return [
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
  ] as const
}
