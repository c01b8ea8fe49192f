import { readdirSync, readFileSync } from 'node:fs'
import { setInterval } from 'node:timers'
import { Client } from 'pg'
import type { Service } from '../e2e/support/service.ts'
import { atMost, type Benchmark, type Table } from './benchmark.ts'
import { withService } from './instance.ts'
import { quantile } from './numbers.ts'

const id = 'shop'
const columns = 40

export const benchmark: Benchmark = {
  title: 'The database browser',
  about: `A PostgreSQL table with ${columns} columns: an integer key, integers, texts, decimals, times and JSON. 100 requests of 100 rows for each kind of page, over the API with a token, and
the same statement by a client of its own beside them. An export of the whole table as CSV, with the highest resident memory of the process that looks into the database, and what the service
itself grew by.`,
  measure: async ({ quick }) => {
    const rows = quick ? 20_000 : 1_000_000
    return withService(async (service) => {
      const body = { name: 'Shop', databases: { main: { type: 'postgresql' } } }
      const made = await service.client.call('createProject', { body, query: { wait: 170 } })
      if (made.operation?.state !== 'succeeded') throw new Error(JSON.stringify(made.operation?.error))
      await fill(service, rows)
      const pages = await measurePages(service, rows, quick ? 20 : 100)
      const exported = await measureExport(service)
      const table: Table = [
        ['page', 'API p50', 'API p95', 'statement p95'],
        ...pages.map(({ name, api, own }) => [
          name,
          `${quantile(api, 0.5).toFixed(1)} ms`,
          `${quantile(api, 0.95).toFixed(1)} ms`,
          `${quantile(own, 0.95).toFixed(1)} ms`,
        ]),
      ]
      const whole: Table = [
        ['rows', 'exported', 'time', 'browser process, highest', 'the service grew by'],
        [
          String(rows),
          `${(exported.bytes / 1e6).toFixed(0)} MB`,
          `${(exported.milliseconds / 1000).toFixed(1)} s`,
          `${exported.browser.toFixed(0)} MB`,
          `${exported.service.toFixed(0)} MB`,
        ],
      ]
      return {
        tables: [table, whole],
        bars: [
          ...pages.map(({ name, api, own }) =>
            atMost(`${name}: p95 beyond the statement`, quantile(api, 0.95) - quantile(own, 0.95), 50, 'ms'),
          ),
          atMost('the process that looks, during an export', exported.browser, 250, 'MB'),
          atMost('what the service grew by', exported.service, 60, 'MB'),
        ],
      }
    })
  },
}

async function connected<Value>(service: Service, act: (client: Client) => Promise<Value>): Promise<Value> {
  const credentials = await service.client.call('getDatabaseCredentials', { params: { id, db: 'main' } })
  const client = new Client((credentials as { url: string }).url)
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}

function fill(service: Service, rows: number): Promise<unknown> {
  const kinds = ['int', 'text', 'numeric(12, 2)', 'timestamptz', 'jsonb']
  const values = [
    'n % 1000',
    "'text ' || n",
    'n / 7.0',
    "'2026-01-01'::timestamptz + n * interval '1 s'",
    '\'{"a": 1}\'',
  ]
  const more = Array.from({ length: columns - 1 }, (_, at) => at)
  return connected(service, async (client) => {
    await client.query(
      `CREATE TABLE wide (id int PRIMARY KEY, ${more.map((at) => `c${at} ${kinds[at % 5]}`).join(', ')})`,
    )
    await client.query(
      `INSERT INTO wide SELECT n, ${more.map((at) => values[at % 5]).join(', ')} FROM generate_series(1, ${rows}) n`,
    )
    await client.query('ANALYZE wide')
  })
}

interface Page {
  readonly nextCursor: string | null
  readonly previousCursor: string | null
}

async function measurePages(service: Service, rows: number, requests: number) {
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
  return connected(service, async (client) => {
    const measured = []
    for (const { name, api, own } of kinds) {
      const times = { name, api: [] as number[], own: [] as number[] }
      for (let count = 0; count < requests; count++) {
        times.api.push(await timed(api))
        times.own.push(await timed(() => client.query(`SELECT * FROM wide ${own()} LIMIT 101`)))
      }
      measured.push(times)
    }
    return measured
  })
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
