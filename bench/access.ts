import type { Bar, Benchmark } from './benchmark.ts'
import { startHelper } from './helper-process.ts'
import { median, milliseconds, perSecond, quantile } from './numbers.ts'

const searches: Readonly<Record<string, (project: string) => string>> = {
  'newest, no filter': () => '',
  'text that some have': () => 'q=project-7',
  'text that none has': () => 'q=nowhere+to+be+found',
  'an actor': () => 'actor=grace',
  'an action and an outcome': () => 'action=project.start&outcome=denied',
  'a project': (project) => `project=${project}`,
  'a time, with text': () => 'since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z&q=ada',
}

const megabytes = (bytes: number) => bytes / 1048576

export const benchmark: Benchmark = {
  title: 'Access: bearer check, audit search and export',
  about: `The service’s own HTTP app over a store in a process of its own ([access-server.ts](../access-server.ts)), over HTTP with a
bearer token, one request after the other. A search is a page of 50; each kind of search counts for itself, and the slowest is
held against the promise. An export is read to its end; its memory is the highest resident size while it is made, compared
with the size before, for a log of that length and for one ten times as long. The bearer check is the service’s own, called in that
process 10,000 times in a row; the benchmark "bearer" measures it from outside.`,
  measure: async ({ quick }) => {
    const [rounds, entries] = quick ? [20, 2_000] : [200, 10_000]
    const small = await overServer(entries, async (ask, project) => {
      const found: { name: string; times: number[] }[] = []
      for (const [name, query] of Object.entries(searches)) {
        const times: number[] = []
        for (let round = 0; round < rounds + 20; round++) {
          const began = performance.now()
          await (await ask(`/api/v1/audit?limit=50&${query(project)}`)).arrayBuffer()
          // The first ones warm up.
          if (round >= 20) times.push(performance.now() - began)
        }
        found.push({ name, times })
      }
      const check = median((await (await ask('/check')).json()) as number[])
      return { found, check, exports: await exportsOf(ask, quick) }
    })
    const large = await overServer(entries * 10, (ask) => exportsOf(ask, quick))
    const slowest = Math.max(...small.found.map(({ times }) => quantile(times, 0.95)))
    const slowestExport = Math.min(...small.exports.map(({ rate }) => rate))
    const growth = (list: readonly Exported[]) => Math.max(...list.map((one) => one.growth))
    const more = megabytes(growth(large) - growth(small.exports))
    const check = `${small.check.toFixed(1)} µs`
    const bars: Bar[] = [
      bar('Bearer check: who calls, and may they', check, '≤ 15 µs', small.check <= 15),
      bar(`Search over ${entries} entries, p95 of the slowest kind`, milliseconds(slowest), '≤ 30 ms', slowest <= 30),
      bar(
        'Export, the slower format',
        `${perSecond(slowestExport)} entries/s`,
        '≥ 20 k entries/s',
        slowestExport >= 20_000,
      ),
      bar(
        'Memory of an export ten times as long, beyond that of the short one',
        `${more.toFixed(0)} MB`,
        '≤ 32 MB',
        more <= 32,
      ),
    ]
    const exported = (list: readonly Exported[], count: number) =>
      list.map(({ format, rate, growth: grown }) => [
        `${format}, ${count} entries`,
        `${perSecond(rate)} entries/s`,
        `+ ${megabytes(grown).toFixed(0)} MB`,
      ])
    return {
      tables: [
        [
          [`search over ${entries} entries`, 'median', 'p95'],
          ...small.found.map(({ name, times }) => [
            name,
            milliseconds(median(times)),
            milliseconds(quantile(times, 0.95)),
          ]),
        ],
        [
          ['export', 'rate', 'memory at its peak'],
          ...exported(small.exports, entries),
          ...exported(large, entries * 10),
        ],
      ],
      bars,
    }
  },
}

type Ask = (path: string) => Promise<Response>

interface Exported {
  readonly format: string
  readonly rate: number
  /** Bytes. */
  readonly growth: number
}

async function exportsOf(ask: Ask, quick: boolean): Promise<readonly Exported[]> {
  const found: Exported[] = []
  for (const format of ['jsonl', 'csv']) {
    const rates: number[] = []
    let growth = 0
    for (let round = 0; round <= (quick ? 1 : 3); round++) {
      const { now } = (await (await ask('/memory')).json()) as { now: number }
      const began = performance.now()
      let lines = 0
      for await (const chunk of (await ask(`/api/v1/audit/export?format=${format}`)).body!) {
        for (const byte of chunk) if (byte === 10) lines += 1
      }
      const seconds = (performance.now() - began) / 1000
      const { peak } = (await (await ask('/memory')).json()) as { peak: number }
      // The first one fills caches that stay.
      if (round === 0) continue
      rates.push(lines / seconds)
      growth = Math.max(growth, peak - now)
    }
    found.push({ format, rate: median(rates), growth })
  }
  return found
}

async function overServer<T>(entries: number, act: (ask: Ask, project: string) => Promise<T>): Promise<T> {
  const helper = await startHelper('access-server.ts', [String(entries)])
  try {
    const base = `http://127.0.0.1:${helper.port}`
    const authorization = `Bearer ${await (await fetch(`${base}/token`)).text()}`
    const ask: Ask = (path) => fetch(base + path, { headers: { authorization } })
    return await act(ask, await (await ask('/project')).text())
  } finally {
    await helper.stop()
  }
}

function bar(what: string, measured: string, wanted: string, kept: boolean): Bar {
  return { what, measured, bar: wanted, kept }
}
