import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { OperationRecord } from '@stackquay/contract'
import { publishRepository, serveGit } from '../e2e/support/git-server.ts'
import type { Service } from '../e2e/support/service.ts'
import { atMost, type Bar, type Benchmark, type Table } from './benchmark.ts'
import { type BranchKind, branchKinds, type Connection, manifest, program } from './branches-app.ts'
import { type FileSystem, fileSystems, mounted } from './file-systems.ts'
import { withService } from './instance.ts'
import { median } from './numbers.ts'

const id = 'shop'
const rounds = 3
const mostMs = 180_000
const sharing = (Object.keys(fileSystems) as FileSystem[]).filter((name) => fileSystems[name].shares)

export const benchmark: Benchmark = {
  title: 'Branch environments with the data of their project',
  about: `A Node program from a git repository, with one dependency from a registry, and a database of 2 GB that is written to meanwhile (one client, a transaction for each row), with the home
of the service on a file system of its own in a file behind a loop device. Three environments for each: from the request to the first 200 of the address, which answers with the number of rows
of its own database. “Copy” is what the answer says of the copy itself; the parts are the steps of the operation, medians. Then the first environment changes, deletes and adds rows, and its
project changes others, and all rows are read on both sides. Needs root, \`xfsprogs\` and \`btrfs-progs\`.`,
  measure: async ({ quick }) => {
    const rows = quick ? 40_000 : 2_000_000
    const found: Measurement[] = []
    for (const name of sharing)
      for (const kind of branchKinds) {
        const one = await measureOn(name, kind, rows)
        console.error(`${name}, ${kind.name}: answers after ${one.answered.map(seconds).join(', ')}`)
        found.push(one)
      }
    const parts = found.map(({ operations }) => partsOf(operations))
    const titles = [...new Set(parts.flatMap((one) => [...one.keys()]))]
    const whole: Table = [
      [
        'file system',
        'database',
        'data',
        'method',
        'copy',
        'operation',
        'first 200',
        'slowest',
        'the writer waited, at most',
      ],
      ...found.map(({ name, kind, size, method, copy, operations, answered, written }) => [
        name,
        kind.name,
        size,
        method,
        seconds(median(copy)),
        seconds(median(operations.map(lasted))),
        seconds(median(answered)),
        seconds(Math.max(...answered)),
        seconds(written.longest),
      ]),
    ]
    const steps: Table = [
      ['step', ...found.map(({ name, kind }) => `${name}, ${kind.name}`)],
      ...titles.map((title) => [title, ...parts.map((one) => seconds(median(one.get(title) ?? [0])))]),
    ]
    return { tables: [whole, steps], bars: found.flatMap(barsOf) }
  },
}

type Measurement = Awaited<ReturnType<typeof measureOn>>

function barsOf({ name, kind, method, answered, apart, written }: Measurement): Bar[] {
  const what = `${name}, ${kind.name}`
  const isApart = {
    what: `${what}: changes on one side that the other sees`,
    measured: apart,
    bar: 'none',
    kept: apart === 'none',
  }
  return [
    { what: `${what}: the method`, measured: method, bar: 'copy-on-write', kept: method === 'copy-on-write' },
    atMost(`${what}: until the address answers, slowest`, Math.max(...answered), 20_000, 'ms'),
    isApart,
    {
      what: `${what}: rows that were written meanwhile`,
      measured: String(written.rows),
      bar: '> 0',
      kept: written.rows > 0,
    },
  ]
}

async function measureOn(name: FileSystem, kind: BranchKind, rows: number) {
  await using place = await mounted(name)
  const work = await mkdtemp(join(tmpdir(), 'stackquay-bench-branches-'))
  try {
    await mkdir(join(work, 'source'))
    await writeFile(join(work, 'source', 'server.js'), program)
    await writeFile(join(work, 'source', 'package.json'), manifest(kind))
    await publishRepository(join(work, 'source'), join(work, 'shop.git'))
    await using git = await serveGit(work, { username: 'grace', password: 'unused' })
    const act = (service: Service) => measure(service, git.url('shop.git'), kind, rows)
    return { name, kind, ...(await withService(act, { below: place.path })) }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function measure(service: Service, url: string, kind: BranchKind, rows: number) {
  const { client } = service
  const body = { name: 'Shop', git: { url }, databases: { main: { type: kind.type } } }
  const made = await client.call('createProject', { body, query: { wait: 280 } })
  if (made.operation?.state !== 'succeeded') throw new Error(JSON.stringify(made.operation))
  const parent = await connected(service, kind, id)
  await parent.query('CREATE TABLE book (n int PRIMARY KEY, text text)')
  await parent.query('CREATE TABLE written (n int PRIMARY KEY)')
  await kind.fill(parent, rows)
  const load = writing(await connected(service, kind, id))
  const answered: number[] = []
  const operations: OperationRecord[] = []
  const seen: string[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const branch = `round-${round}`
    const one = await createdBranch(service, branch)
    answered.push(one.answered)
    operations.push(one.operation)
    if (round === 1) seen.push(...(await crossings(service, kind, parent, one.project)))
    await client.call('deleteBranch', { params: { id, branch }, query: { confirm: branch, wait: 170 } })
    // Where blocks are not shared, each takes room.
    for (const { id: item, name } of (await client.call('listTrash', {})).items)
      await client.call('purgeTrash', { params: { item }, query: { confirm: name } })
  }
  const written = await load.stop()
  await parent.end()
  return { answered, operations, written, apart: seen.length === 0 ? 'none' : seen.join('; '), ...copiesOf(operations) }
}

/** Until its address answers with rows of its database: that its program runs is not enough. */
async function createdBranch({ client, get }: Service, branch: string) {
  const begun = performance.now()
  const { environment } = await client.call('createBranch', { params: { id }, body: { branch, create: true } })
  const { slug, project } = environment
  for (;;) {
    const { status, body } = await get(slug!)
    if (status === 200 && body === 'rows: 1000') break
    if (performance.now() - begun > mostMs) throw new Error(`${slug} answers ${status}: ${body}`)
    await delay(20)
  }
  const answered = performance.now() - begun
  const { items } = await client.call('listOperations', { query: { project: project! } })
  const last = items.find(({ kind }) => kind === 'duplicate')
  const operation = await client.call('getOperation', { params: { op: last!.id }, query: { wait: 60 } })
  if (operation.state !== 'succeeded') throw new Error(JSON.stringify(operation))
  return { answered, operation, project: project! }
}

/** Changes each side, and answers what the other saw of it. */
async function crossings(service: Service, kind: BranchKind, parent: Connection, project: string): Promise<string[]> {
  const own = await connected(service, kind, project)
  const seen: string[] = []
  const before = await parent.fingerprint()
  if ((await own.fingerprint()) !== before) seen.push('the environment began with other rows')
  await own.query("UPDATE book SET text = 'of the environment' WHERE n % 100 = 0")
  await own.query('DELETE FROM book WHERE n % 100 = 1')
  await own.query("INSERT INTO book VALUES (-1, 'of the environment')")
  await own.query(kind.flush)
  if ((await parent.fingerprint()) !== before) seen.push('the project saw what the environment wrote')
  const changed = await own.fingerprint()
  await parent.query('UPDATE book SET text = reverse(text) WHERE n % 100 = 2')
  await parent.query(kind.flush)
  if ((await own.fingerprint()) !== changed) seen.push('the environment saw what the project wrote')
  if (changed === before || (await parent.fingerprint()) === before) seen.push('what was changed is not there')
  await own.end()
  return seen
}

async function connected({ client }: Service, kind: BranchKind, project: string): Promise<Connection> {
  const credentials = await client.call('getDatabaseCredentials', { params: { id: project, db: 'main' } })
  return kind.connect((credentials as { url: string }).url)
}

/** Writes without end, and tells how long no row could be written at most. */
function writing(connection: Connection) {
  let stopped = false
  const ended = (async () => {
    let [rows, longest, last] = [0, 0, performance.now()]
    for (let n = 1; !stopped; n += 1) {
      const isWritten = await connection.query(`INSERT INTO written VALUES (${n})`).then(
        () => true,
        () => delay(20, false),
      )
      if (!isWritten) continue
      rows += 1
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }
    await connection.end()
    return { rows, longest }
  })()
  ended.catch(() => undefined)
  return {
    stop: () => {
      stopped = true
      return ended
    },
  }
}

/** From the steps' output: `2.4 GB in 123 ms: copy-on-write, …`. */
function copiesOf(operations: readonly OperationRecord[]) {
  const said = operations.map(({ steps }) => {
    const text = steps.flatMap(({ output }) => output).join('\n')
    const found = /([\d.,]+ \w+) in (\d+) ms: (copy-on-write|copied)/.exec(text)
    if (found === null) throw new Error(JSON.stringify(steps))
    return { size: found[1]!, milliseconds: Number(found[2]), method: found[3]! }
  })
  return {
    size: said[0]!.size,
    copy: said.map(({ milliseconds }) => milliseconds),
    method: [...new Set(said.map(({ method }) => method))].join(', '),
  }
}

function partsOf(operations: readonly OperationRecord[]): Map<string, number[]> {
  const parts = new Map<string, number[]>()
  for (const step of operations.flatMap(({ steps }) => steps)) {
    const title = step.title.replace(/ round-\d$/, ' the branch')
    parts.set(title, [...(parts.get(title) ?? []), lasted(step)])
  }
  return parts
}

function lasted({ startedAt, finishedAt }: Pick<OperationRecord, 'startedAt' | 'finishedAt'>): number {
  return startedAt === null || finishedAt === null ? 0 : Date.parse(finishedAt) - Date.parse(startedAt)
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(2)} s`
}
