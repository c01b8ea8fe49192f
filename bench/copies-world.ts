import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ApiError, type Client } from '@stackquay/client'
import { startSftpServer } from '@stackquay/testkit'
import { Client as Postgres } from 'pg'
import { type Service, startService } from '../e2e/support/service.ts'
import { startTargetStorage } from '../e2e/support/target-storage.ts'
import { asStarted } from './instance.ts'

const run = promisify(execFile)

/** The project whose backups are measured. */
export const id = 'shop'

export interface Sizes {
  /** Of files whose content cannot be compressed: the archive is as large. */
  readonly fileBytes: number
  /** About a kilobyte each. */
  readonly rows: number
}

/** A service as `npm start` starts it, with one project, and three places to copy to. */
export interface World extends AsyncDisposable {
  readonly service: Service
  readonly client: Client
  /** Ids by kind. */
  readonly targets: Readonly<Record<'folder' | 's3' | 'sftp', string>>
  /** Of the project’s source. */
  readonly path: string
  /** A folder for what is measured. */
  readonly folder: string
  /** Of the service, from its next start on. */
  readonly env: Record<string, string>
  /** A URL that logs in, for `main` or the empty `second`. */
  urlOf(database: string): Promise<string>
  connect(database: string): Promise<Postgres>
}

export async function openWorld(checkout: string, { fileBytes, rows }: Sizes): Promise<World> {
  const stack = new AsyncDisposableStack()
  try {
    const { through, env } = asStarted()
    const service = await startService({ checkout, through, env })
    stack.defer(() => service.close())
    const storage = await startTargetStorage()
    stack.defer(() => storage.end())
    const machine = stack.use(await startSftpServer())
    const folder = await mkdtemp(join(tmpdir(), 'stackquay-copies-'))
    stack.defer(() => rm(folder, { recursive: true, force: true }))
    const { client } = service
    const path = await makeProject(client, fileBytes)
    const urlOf = async (db: string) => (await client.call('getDatabaseCredentials', { params: { id, db } })).url ?? ''
    const connect = async (database: string) => {
      const connection = new Postgres(await urlOf(database))
      await connection.connect()
      return connection
    }
    await fillDatabase(await connect('main'), rows)
    const disk = join(folder, 'disk')
    await mkdir(disk)
    const { host, port, user, path: remote, privateKey } = machine
    const targets = {
      folder: await target(client, { name: 'Disk', folder: { path: disk } }),
      s3: await target(client, { name: 'Bucket', s3: { ...storage.s3, prefix: 'bench' } }),
      sftp: await target(client, { name: 'Machine', sftp: { host, port, user, path: remote, privateKey } }),
    }
    const all = stack.move()
    return {
      ...{ service, client, targets, path, folder, env, urlOf, connect },
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

const postgresql = { type: 'postgresql', version: '15' } as const

async function makeProject(client: Client, fileBytes: number): Promise<string> {
  const body = { name: 'Shop', static: {}, databases: { main: postgresql, second: postgresql } }
  const made = await client.call('createProject', { body, query: { wait: 170 } })
  if (made.operation?.state !== 'succeeded') throw new Error(JSON.stringify(made.operation?.error))
  const chunk = 16 << 20
  for (let at = 0; at * chunk < fileBytes; at += 1) {
    const file = await open(join(made.path, `${at}.bin`), 'w')
    await file.writeFile(randomBytes(Math.min(chunk, fileBytes - at * chunk)))
    await file.close()
  }
  const { uid, gid } = await lstat(made.path)
  await run('chown', ['-R', `${uid}:${gid}`, made.path])
  return made.path
}

async function fillDatabase(client: Postgres, rows: number): Promise<void> {
  await client.query('CREATE TABLE book (n int PRIMARY KEY, text text)')
  const each = 20_000
  for (let from = 1; from <= rows; from += each) {
    const to = Math.min(rows, from + each - 1)
    // As prose is: half of it can be compressed away.
    await client.query(
      `INSERT INTO book SELECT n, (SELECT string_agg(md5(n::text || m), ' quay ') FROM generate_series(1, 25) m) FROM generate_series(${from}, ${to}) n`,
    )
  }
  await client.query('CHECKPOINT')
  await client.end()
}

async function target(client: Client, body: Parameters<typeof addTarget>[1]): Promise<string> {
  try {
    return (await addTarget(client, body)).id
  } catch (error) {
    const hostKey = error instanceof ApiError ? String(error.problem?.hostKey ?? '') : ''
    if (hostKey === '' || body.sftp === undefined) throw error
    return (await addTarget(client, { ...body, sftp: { ...body.sftp, hostKey } })).id
  }
}

interface NewTarget {
  readonly name: string
  readonly folder?: { readonly path: string }
  readonly s3?: object
  readonly sftp?: object
}

function addTarget(client: Client, body: NewTarget) {
  return client.call('createBackupTarget', { body: body as never })
}

export interface Used {
  readonly milliseconds: number
  /** Megabytes above those before it: the most at any moment, and some seconds after its end. */
  readonly peak: number
  readonly left: number
}

/** A service that was just started does one thing; its resident memory is that of the kernel’s own high-water mark. */
export async function measured({ service }: World, act: () => Promise<unknown>): Promise<Used> {
  await service.stop()
  await service.start()
  await delay(restMs)
  const pid = service.pid()
  const before = field(pid, 'VmRSS')
  // Since now: proc(5).
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  const began = performance.now()
  await act()
  const milliseconds = performance.now() - began
  const peak = field(pid, 'VmHWM') - before
  await delay(restMs)
  return { milliseconds, peak, left: field(pid, 'VmRSS') - before }
}

/** After its start the service collects what that left behind. */
const restMs = 4_000

function field(pid: number, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}
