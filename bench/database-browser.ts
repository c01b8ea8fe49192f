import { readdirSync, readFileSync } from 'node:fs'
import { setInterval } from 'node:timers'
import type { Service } from '../e2e/support/service.ts'
import { atMost, type Bar, type Benchmark, type Table } from './benchmark.ts'
import { type Connection, type Kind, kindsHere } from './database-browser-kinds.ts'
import { asStarted, withService } from './instance.ts'
import { quantile } from './numbers.ts'

const id = 'shop'
const columns = 40

export const benchmark: Benchmark = {
  title: 'The database browser',
  about: `A table with ${columns} columns: an integer key, integers, texts, decimals, times and JSON. 100 requests of 100 rows for each kind of page, over the API with a token, and
the same statement by a client of its own beside them. An export of the whole table as CSV, with the highest resident memory of the process that looks into the database, and what the service
itself grew by. Then ten statements that write, which are to be refused. MySQL where \`TEST_MYSQL\` names a folder with its programs.`,
  measure: async ({ quick }) => {
    const rows = quick ? 20_000 : 1_000_000
    const found: Measurement[] = []
    for (const kind of kindsHere()) {
      const { through, env } = asStarted()
      if (kind.programs !== undefined) env.PATH = `${kind.programs}:${process.env.PATH}`
      found.push(await withService((service) => measure(kind, rows, quick ? 20 : 100, service), { through, env }))
    }
    const pages: Table = [
      ['kind', 'page', 'API p50', 'API p95', 'statement p95'],
      ...found.flatMap((one) =>
        one.pages.map(({ name, api, own }) => [
          one.kind.name,
          name,
          `${quantile(api, 0.5).toFixed(1)} ms`,
          `${quantile(api, 0.95).toFixed(1)} ms`,
          `${quantile(own, 0.95).toFixed(1)} ms`,
        ]),
      ),
    ]
    const whole: Table = [
      ['kind', 'rows', 'exported', 'time', 'browser process, highest', 'the service grew by'],
      ...found.map(({ kind, exported }) => [
        kind.name,
        String(rows),
        `${(exported.bytes / 1e6).toFixed(0)} MB`,
        `${(exported.milliseconds / 1000).toFixed(1)} s`,
        `${exported.browser.toFixed(0)} MB`,
        `${exported.service.toFixed(0)} MB`,
      ]),
    ]
    return { tables: [pages, whole], bars: found.flatMap(barsOf) }
  },
}

type Measurement = Awaited<ReturnType<typeof measure>>

function barsOf({ kind, pages, exported, refused }: Measurement): Bar[] {
  const all = kind.writing.length
  return [
    ...pages.map(({ name, api, own }) =>
      atMost(`${kind.name}, ${name}: p95 beyond the statement`, quantile(api, 0.95) - quantile(own, 0.95), 50, 'ms'),
    ),
    atMost(`${kind.name}: the process that looks, during an export`, exported.browser, 250, 'MB'),
    atMost(`${kind.name}: what the service grew by`, exported.service, 60, 'MB'),
    {
      what: `${kind.name}: statements that write`,
      measured: `${refused} refused, nothing written`,
      bar: `${all} refused`,
      kept: refused === all,
    },
  ]
}

async function measure(kind: Kind, rows: number, requests: number, service: Service) {
  const body = { name: 'Shop', databases: { main: { type: kind.type } } }
  const made = await service.client.call('createProject', { body, query: { wait: 170 } })
  if (made.operation?.state !== 'succeeded') throw new Error(JSON.stringify(made.operation?.error))
  const connection = await connected(kind, service)
  try {
    await fill(kind, connection, rows)
    const pages = await measurePages(service, connection, rows, requests)
    const exported = await measureExport(service)
    const refused = await refusedOf(kind, service, connection)
    return { kind, pages, exported, refused }
  } finally {
    await connection.end()
  }
}

async function connected(kind: Kind, service: Service): Promise<Connection> {
  const credentials = await service.client.call('getDatabaseCredentials', { params: { id, db: 'main' } })
  return kind.connect((credentials as { url: string }).url)
}

async function fill(kind: Kind, connection: Connection, rows: number): Promise<void> {
  const more = Array.from({ length: columns - 1 }, (_, at) => kind.columns[at % kind.columns.length]!)
  const declared = more.map((column, at) => `c${at} ${column.declared}`).join(', ')
  await connection.query(`CREATE TABLE wide (id int PRIMARY KEY, ${declared})`)
  const values = more.map(({ value }) => value).join(', ')
  await connection.query(`INSERT INTO wide SELECT n, ${values} FROM (${kind.numbers(rows)}) numbers`)
  await connection.query(kind.analyze('wide'))
}

/** How many of the statements that write are refused, each with the code of what a database refuses. Throws when one wrote all the same. */
async function refusedOf(kind: Kind, service: Service, connection: Connection): Promise<number> {
  const seen = async () => JSON.stringify(await connection.query('SELECT count(*), sum(c0), min(id) FROM wide'))
  const before = await seen()
  let refused = 0
  for (const sql of kind.writing) {
    const response = await fetch(`${service.url}/api/v1/projects/${id}/databases/main/query`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ sql }),
    })
    const { code } = (await response.json()) as { code?: string }
    if (response.status === 422 && code === 'query_failed') refused += 1
    if ((await seen()) !== before) throw new Error(`This wrote: ${sql}`)
  }
  return refused
}

interface Page {
  readonly nextCursor: string | null
  readonly previousCursor: string | null
}

async function measurePages(service: Service, connection: Connection, rows: number, requests: number) {
  const page = async (parameters: Record<string, string>): Promise<Page> => {
    const query = new URLSearchParams({ limit: '100', ...parameters })
    const response = await fetch(`${service.url}/api/v1/projects/${id}/databases/main/tables/wide?${query}`, {
      headers: { authorization: `Bearer ${service.token}` },
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as Page
  }
  const middle = await page({ from: JSON.stringify([String(Math.floor(rows / 2))]) })
  let forward = middle.nextCursor
  let backward = middle.previousCursor
  const at = () => Math.floor(Math.random() * rows)
  const kinds = [
    { name: 'first', api: () => page({}), own: () => 'WHERE true ORDER BY id' },
    {
      name: 'next',
      api: async () => {
        forward = (await page({ cursor: forward! })).nextCursor
      },
      own: () => `WHERE id > ${rows / 2} ORDER BY id`,
    },
    {
      name: 'previous',
      api: async () => {
        backward = (await page({ cursor: backward! })).previousCursor
      },
      own: () => `WHERE id < ${rows / 2} ORDER BY id DESC`,
    },
    { name: 'last', api: () => page({ last: 'true' }), own: () => 'WHERE true ORDER BY id DESC' },
    {
      name: 'by key',
      api: () => page({ from: JSON.stringify([String(at())]) }),
      own: () => `WHERE id >= ${at()} ORDER BY id`,
    },
  ]
  const measured = []
  for (const { name, api, own } of kinds) {
    const times = { name, api: [] as number[], own: [] as number[] }
    for (let count = 0; count < requests; count++) {
      times.api.push(await timed(api))
      times.own.push(await timed(() => connection.query(`SELECT * FROM wide ${own()} LIMIT 101`)))
    }
    measured.push(times)
  }
  return measured
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await act()
  return performance.now() - begun
}

async function measureExport(service: Service) {
  const begun = performance.now()
  const before = residentOf(service.pid())
  let browser = 0
  let highest = before
  const watch = setInterval(() => {
    browser = Math.max(browser, ...browsersOf(service.pid()).map(residentOf))
    highest = Math.max(highest, residentOf(service.pid()))
  }, 50)
  let bytes = 0
  try {
    const response = await fetch(`${service.url}/api/v1/projects/${id}/databases/main/tables/wide/export`, {
      headers: { authorization: `Bearer ${service.token}` },
    })
    for await (const chunk of response.body!) bytes += chunk.length
  } finally {
    clearInterval(watch)
  }
  return { bytes, milliseconds: performance.now() - begun, browser, service: highest - before }
}

/** Processes of the service that look into databases. */
function browsersOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
        const isChild = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent
        return isChild && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--max-old-space-size=256')
      } catch {
        // It is gone.
        return false
      }
    })
}

function residentOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
