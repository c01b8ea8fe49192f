import { backup, DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { type AuditHead, auditBase, auditHead, follows, openBase, openHead } from './audit-chain.ts'
import { entryOf } from './audit-rows.ts'
import type { StoreCopy } from './copy-store.ts'
import type { AuditTable } from './schema.ts'

/** A thread that makes one copy of the database; see `copyStore`. */
export interface CopyOrder {
  readonly from: string
  readonly to: string
  readonly keys: readonly { readonly id: string; readonly key: Uint8Array }[]
}

export type CopyReport =
  | { readonly kind: 'copied'; readonly copy: StoreCopy }
  | { readonly kind: 'unsound'; readonly problem: string }
  | { readonly kind: 'failed'; readonly error: { readonly message: string; readonly errcode?: number } }

/** Who is logged in, and answers that are remembered for a day: nothing that a restored service should know. */
const leftOut = ['page_passes', 'session_tickets', 'sessions', 'devices', 'invites', 'idempotency']
const counted = ['projects', 'users', 'tokens', 'secrets', 'audit', 'webhooks', 'backup_schedules']

async function copy({ from, to, keys }: CopyOrder): Promise<CopyReport> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: 5000 })
  try {
    // One snapshot for all pages: without it every write of the service would begin the copy anew.
    source.exec('BEGIN; SELECT count(*) FROM sqlite_master')
    await backup(source, to, { rate: 256 })
  } finally {
    source.close()
  }
  const copied = new DatabaseSync(to, { enableForeignKeyConstraints: true })
  try {
    copied.exec('PRAGMA journal_mode = DELETE; PRAGMA secure_delete = ON')
    const tables = namesIn(copied)
    for (const table of leftOut) if (tables.has(table)) copied.exec(`delete from ${table}`)
    copied.exec("delete from secrets where project is null and name like 'oidc/session/%'")
    const problem = problemIn(copied)
    if (problem !== null) return { kind: 'unsound', problem }
    const keyId = keyOf(copied)
    if (keyId === null) return { kind: 'unsound', problem: 'it does not say which key its secrets are sealed with' }
    const known = keys.map(({ id, key }) => ({ id, key: Buffer.from(key) }))
    const begin = openBase(known, instanceValue(copied, auditBase))
    const audit = auditOf(copied, begin, openHead(known, instanceValue(copied, auditHead)))
    return { kind: 'copied', copy: { schema: schemaOf(copied), keyId, audit, counts: countsIn(copied, tables) } }
  } finally {
    copied.close()
  }
}

function namesIn(database: DatabaseSync): ReadonlySet<string> {
  const rows = database.prepare("select name from sqlite_master where type = 'table'").all()
  return new Set(rows.map(({ name }) => String(name)))
}

function problemIn(database: DatabaseSync): string | null {
  const [found] = database.prepare('PRAGMA quick_check(1)').all()
  if (found?.quick_check !== 'ok') return String(found?.quick_check)
  const [loose] = database.prepare('PRAGMA foreign_key_check').all()
  return loose === undefined ? null : `row ${loose.rowid} of ${loose.table} belongs to a missing row of ${loose.parent}`
}

function instanceValue(database: DatabaseSync, name: string): string | undefined {
  return database.prepare('select value from instance where name = ?').get(name)?.value as string | undefined
}

function keyOf(database: DatabaseSync): string | null {
  const { keyId } = JSON.parse(instanceValue(database, 'key_check') ?? '{}') as { keyId?: string }
  return keyId ?? null
}

/** Where the log ends, and whether it is whole up to there: a log that was tampered with is no reason to have no copy. */
function auditOf(database: DatabaseSync, begin: AuditHead | null, sealed: AuditHead | null): StoreCopy['audit'] {
  let last: AuditHead = begin ?? { seq: 0, hash: '' }
  let whole = begin !== null
  for (const row of database.prepare('select * from audit order by seq').iterate()) {
    const { seq, hash } = row as unknown as AuditTable
    whole &&= follows(entryOf(row as unknown as AuditTable), last)
    last = { seq, hash }
  }
  return { ...last, whole: whole && last.seq === sealed?.seq && last.hash === sealed.hash }
}

function schemaOf(database: DatabaseSync): number {
  return Number(database.prepare('select coalesce(max(version), 0) as version from migrations').get()?.version)
}

function countsIn(database: DatabaseSync, tables: ReadonlySet<string>): Record<string, number> {
  const count = (table: string) => Number(database.prepare(`select count(*) as n from ${table}`).get()?.n)
  return Object.fromEntries(counted.filter((table) => tables.has(table)).map((table) => [table, count(table)]))
}

parentPort?.postMessage(
  await copy(workerData as CopyOrder).catch((error: Error & { errcode?: number }): CopyReport => {
    const { message, errcode } = error
    return { kind: 'failed', error: { message, ...(errcode === undefined ? {} : { errcode }) } }
  }),
)
