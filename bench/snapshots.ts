import { execFile } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { OperationRecord, Snapshot } from '@stackquay/contract'
import { Client } from 'pg'
import type { Service } from '../e2e/support/service.ts'
import { atMost, type Bar, type Benchmark, type Table } from './benchmark.ts'
import { type FileSystem, fileSystems, mounted } from './file-systems.ts'
import { withService } from './instance.ts'
import { median } from './numbers.ts'

const run = promisify(execFile)
const id = 'shop'
const rounds = 3

export const benchmark: Benchmark = {
  title: 'Snapshots and clones',
  about: `A PostgreSQL of 2 GB that is written to (one client, a transaction for each row), with the home of the service on a file system of its own in a
file behind a loop device. For each: three snapshots, three clones and a restore. “Copy” is what the answer says of the copy itself, with the checkpoint before it and the call that
writes it to the disk; “all” is the time from the request to its answer, for a clone until its server accepts connections. \`cp -a\` and \`sync -f\` of the same folder beside it, while the
server is stopped. Needs root, \`xfsprogs\` and \`btrfs-progs\`. Medians.`,
  measure: async ({ quick }) => {
    const rows = quick ? 40_000 : 2_000_000
    const found = []
    for (const name of Object.keys(fileSystems) as FileSystem[]) found.push(await measureOn(name, rows))
    const table: Table = [
      ['file system', 'data', 'method', 'snapshot: copy', 'all', 'clone: copy', 'all', 'restore, all', '`cp -a`'],
      ...found.map(({ name, bytes, method, snapshot, clone, restore, cp }) => [
        name,
        `${(bytes / 1e9).toFixed(2)} GB`,
        method,
        seconds(snapshot.copy),
        seconds(snapshot.all),
        seconds(clone.copy),
        seconds(clone.all),
        seconds(restore),
        seconds(cp),
      ]),
    ]
    return { tables: [table], bars: found.flatMap(barsOf) }
  },
}

type Measurement = Awaited<ReturnType<typeof measureOn>>

function barsOf({ name, method, snapshot, clone, cp }: Measurement): Bar[] {
  const { shares } = fileSystems[name]
  const said = { what: `${name}: the method`, measured: method, bar: shares ? 'copy-on-write' : 'copy' }
  const isRight = { ...said, kept: said.measured === said.bar }
  if (!shares)
    return [isRight, atMost(`${name}: a snapshot, against cp and sync`, (100 * snapshot.copy) / cp, 130, '%')]
  return [
    isRight,
    atMost(`${name}: a snapshot of 2 GB, all`, snapshot.all, 2000, 'ms'),
    atMost(`${name}: the copy of a clone of 2 GB`, clone.copy, 2000, 'ms'),
  ]
}

async function measureOn(name: FileSystem, rows: number) {
  await using place = await mounted(name)
  return await withService((service) => measure(name, rows, service), { below: place.path })
}

async function measure(name: FileSystem, rows: number, service: Service) {
  const { client } = service
  const body = { name: 'Shop', databases: { main: { type: 'postgresql' } } }
  const made = await client.call('createProject', { body, query: { wait: 170 } })
  if (made.operation?.state !== 'succeeded') throw new Error(JSON.stringify(made.operation?.error))
  await fill(service, rows)
  const load = await writing(service)
  const snapshots = []
  const clones = []
  for (let round = 1; round <= rounds; round += 1) {
    const taken = await timed(() =>
      client.call('createSnapshot', { params: { id, db: 'main' }, body: { name: `s${round}` }, query: { wait: 280 } }),
    )
    const snapshot = taken.value as Snapshot
    if (snapshot.method === undefined) throw new Error(JSON.stringify(snapshot))
    snapshots.push({ copy: snapshot.milliseconds, all: taken.milliseconds, ...snapshot })
    // Where blocks are not shared, each takes room.
    if (round > 1) await client.call('deleteSnapshot', { params: { id, db: 'main', snapshot: snapshot.id } })
    const db = `twin${round}`
    const cloned = await timed(() =>
      client.call('cloneDatabase', { params: { id, db: 'main' }, body: { name: db }, query: { wait: 280 } }),
    )
    clones.push({ copy: copyOf(cloned.value as { operation?: OperationRecord }), all: cloned.milliseconds })
    await client.call('deleteDatabase', { params: { id, db }, query: { confirm: db, wait: 170 } })
  }
  await load.stop()
  const restored = await timed(() =>
    client.call(
      'restoreSnapshot',
      { params: { id, db: 'main', snapshot: 's1' }, body: { confirm: 'main' }, query: { wait: 280 } },
      { ifMatch: '*' },
    ),
  )
  if (restored.value.state !== 'succeeded') throw new Error(JSON.stringify(restored.value.error))
  await client.call('stopProject', { params: { id }, query: { wait: 100 } })
  const middle = (all: readonly { copy: number; all: number }[]) => ({
    copy: median(all.map(({ copy }) => copy)),
    all: median(all.map(({ all: whole }) => whole)),
  })
  const [{ bytes = 0, method = '' } = {}] = snapshots
  const cp = await copiedByHand(service)
  return { name, bytes, method, snapshot: middle(snapshots), clone: middle(clones), restore: restored.milliseconds, cp }
}

/** From the step's output: `… in 123 ms: …`. */
function copyOf({ operation }: { operation?: OperationRecord | null }): number {
  const said = operation?.steps.flatMap(({ output }) => output).join('\n') ?? ''
  const found = / in (\d+) ms:/.exec(said)?.[1]
  if (found === undefined) throw new Error(JSON.stringify(operation))
  return Number(found)
}

async function fill(service: Service, rows: number): Promise<void> {
  const client = await connected(service)
  const each = 50_000
  await client.query('CREATE TABLE book (n int PRIMARY KEY, text text); CREATE TABLE written (n int PRIMARY KEY)')
  for (let from = 1; from <= rows; from += each)
    await client.query(
      `INSERT INTO book SELECT n, repeat(md5(n::text), 30) FROM generate_series(${from}, ${Math.min(rows, from + each - 1)}) n`,
    )
  await client.query('CHECKPOINT')
  await client.end()
}

async function writing(service: Service) {
  const client = await connected(service)
  // Ended with its server when the measurement fails, which is told by that.
  client.on('error', () => {})
  let stopped = false
  const ended = (async () => {
    for (let n = 1; !stopped; n += 1) await client.query('INSERT INTO written VALUES ($1)', [n])
    await client.end()
  })()
  ended.catch(() => undefined)
  return {
    stop: async () => {
      stopped = true
      await ended
    },
  }
}

async function connected({ client }: Service): Promise<Client> {
  const credentials = await client.call('getDatabaseCredentials', { params: { id, db: 'main' } })
  const connection = new Client((credentials as { url: string }).url)
  await connection.connect()
  return connection
}

async function copiedByHand({ home }: Service): Promise<number> {
  const data = join(home, 'data')
  const [project = ''] = await readdir(data)
  const from = join(data, project, 'postgresql-main')
  const to = join(home, 'by-hand')
  const { milliseconds } = await timed(async () => {
    await run('cp', ['-a', '--reflink=auto', from, to])
    await run('sync', ['-f', to])
  })
  await rm(to, { recursive: true, force: true })
  return milliseconds
}

async function timed<T>(act: () => Promise<T>): Promise<{ readonly value: T; readonly milliseconds: number }> {
  const begun = performance.now()
  const value = await act()
  return { value, milliseconds: performance.now() - begun }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(2)} s`
}
