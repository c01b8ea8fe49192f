import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { ProjectSpec } from '@stackquay/domain'
import { type NewAuditEntry, type NewProject, newId, openStore, type Store, type StoreOptions } from '../src/index.ts'

export interface TempStore {
  readonly store: Store
  readonly file: string
  readonly options: StoreOptions
  readonly clock: { time: number; now(): Date; pass(milliseconds: number): void }
}

/** A path for a database in a folder of its own, which goes with the test. */
export function tempFile(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-store-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'stackquay.db')
}

export async function tempStore(test: TestContext, changes: Partial<StoreOptions> = {}): Promise<TempStore> {
  const clock = {
    time: Date.UTC(2026, 0, 1),
    now: () => new Date(clock.time),
    pass: (milliseconds: number) => {
      clock.time += milliseconds
    },
  }
  const file = tempFile(test)
  const options: StoreOptions = { file, sealingKey: { id: 'key_a', key: randomBytes(32) }, clock, ...changes }
  const store = await openStore(options)
  test.after(() => store.close())
  return { store, file, options, clock }
}

export function spec(name: string, changes: Partial<ProjectSpec> = {}): ProjectSpec {
  return { name, runtimes: {}, services: {}, databases: {}, env: {}, healthCheck: null, limits: null, ...changes }
}

export function newProject(slug: string, changes: Partial<NewProject> = {}): NewProject {
  return {
    id: newId('prj'),
    slug,
    spec: spec(slug),
    engine: 'native',
    desired: 'stopped',
    phase: 'ready',
    path: `/projects/${slug}`,
    source: { kind: 'empty' },
    ...changes,
  }
}

export function auditEntry(changes: Partial<NewAuditEntry> = {}): NewAuditEntry {
  return {
    actor: 'ada',
    action: 'project.start',
    target: null,
    project: null,
    outcome: 'success',
    changes: null,
    requestId: null,
    operationId: null,
    source: 'api',
    ip: null,
    userAgent: null,
    ...changes,
  }
}

/** Changes the file behind the store's back, as somebody with an editor would. */
export function tamper(file: string, ...statements: readonly string[]): void {
  const database = new DatabaseSync(file, { timeout: 5000, enableForeignKeyConstraints: false })
  try {
    database.exec('drop trigger audit_no_update; drop trigger audit_no_delete')
    for (const statement of statements) database.exec(statement)
  } finally {
    database.close()
  }
}

/** A script of `children/` as a process of its own, killed at the latest with the test. */
export function child(test: TestContext, script: string, ...args: readonly string[]) {
  const path = join(import.meta.dirname, 'children', script)
  const started: ChildProcess = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let complaints = ''
  started.stderr?.on('data', (chunk) => {
    complaints += chunk
  })
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    started.on('close', (code, signal) => resolve({ code, signal }))
  })
  test.after(async () => {
    started.kill('SIGKILL')
    await ended
  })
  const lines = createInterface({ input: started.stdout as NodeJS.ReadableStream })
  return { lines, ended, kill: () => started.kill('SIGKILL'), complaints: () => complaints }
}

export const keyText = (options: StoreOptions) => options.sealingKey.key.toString('hex')

/** What `verify` found, without the words for it. */
export async function verifyAudit(store: Store) {
  const { ok, entries, firstBroken } = await store.audit.verify()
  return { ok, entries, firstBroken }
}
