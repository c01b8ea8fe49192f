import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import type { MetricPoint } from '@stackquay/domain'
import { metricsHandlers } from '@stackquay/server/metrics/handlers'
import { type MetricsFile, openMetricsFile, type SeriesName } from '@stackquay/store'
import { atMost, type Benchmark, type Table } from './benchmark.ts'
import { median, quantile } from './numbers.ts'

const workloads = 200
const projects = 50
const day = 86_400
const ranges = ['1h', '24h', '7d', '30d', '1y'] as const

export const benchmark: Benchmark = {
  title: 'Metrics',
  about: `A simulated year of ${workloads} workloads in ${projects} projects, with requests of each project, in the file of the history: numbers that wander, and disk and network bytes of which nothing
repeats. Of the days before the last eight one minute an hour is written: what is kept of them is the same. The last eight are written minute by minute, packed each hour and pruned; CPU time is that of one such
day. Queries are the handler’s, with the text of the answer, right before an hour is packed. A scrape is that of 1,000 projects and 1,000 workloads; the delay of the event loop is measured meanwhile.`,
  measure: async ({ quick }) => {
    const folder = await mkdtemp(join(tmpdir(), 'stackquay-metrics-'))
    try {
      const file = openMetricsFile(join(folder, 'metrics.db'))
      const now = Math.floor(Date.UTC(2026, 0, 1) / 1000)
      const written = await writeYear(file, now, quick ? 30 : 365)
      const megabytes = file.bytes() / 1e6
      const queries = await measureQueries(file, now, quick ? 20 : 200)
      file.close()
      const scrape = await measureScrape(quick ? 5 : 30)
      const share = (100 * written.cpuSeconds) / written.daysMeasured / day
      const table: Table = [
        ['range', 'points of a workload', 'answer', 'p50', 'p95'],
        ...queries.map(({ range, points, bytes, p50, p95 }) => [
          range,
          String(points),
          `${(bytes / 1e3).toFixed(0)} KB`,
          `${p50.toFixed(1)} ms`,
          `${p95.toFixed(1)} ms`,
        ]),
      ]
      const facts: Table = [
        ['', ''],
        ['file', `${megabytes.toFixed(1)} MB`],
        ['a minute of all, written', `${written.minute.toFixed(2)} ms`],
        ['longest turn while an hour is packed', `${written.longestTurn.toFixed(0)} ms`],
        [
          'CPU of a day',
          `${(written.cpuSeconds / written.daysMeasured).toFixed(1)} s (${share.toFixed(3)} % of a core)`,
        ],
        ['a scrape of 1,000 projects', `${scrape.milliseconds.toFixed(0)} ms, ${(scrape.bytes / 1e6).toFixed(2)} MB`],
        ['longest turn meanwhile', `${scrape.longestTurn.toFixed(0)} ms`],
      ]
      const slowest = Math.max(...queries.map(({ p95 }) => p95))
      return {
        tables: [facts, table],
        bars: [
          atMost('A year of 200 workloads on the disk', megabytes, 200, 'MB'),
          atMost('A query of any range, p95', slowest, 50, 'ms'),
          {
            what: 'CPU for writing it',
            measured: `${share.toFixed(3)} % of a core`,
            bar: '≤ 1 % of a core',
            kept: share <= 1,
          },
          atMost('Longest turn of a scrape of 1,000 projects', scrape.longestTurn, 50, 'ms'),
        ],
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

async function writeYear(file: MetricsFile, now: number, days: number) {
  const pointsAt = wandering()
  const begin = now - days * day
  const exact = now - 8 * day
  let packedAt = begin
  for (let time = begin; time < exact; time += 3_600) {
    file.write(pointsAt(time))
    if (time - packedAt < day) continue
    await file.pack(time)
    file.prune(time)
    packedAt = time
  }
  const minutes: number[] = []
  let longestTurn = 0
  const cpu = process.cpuUsage()
  for (let time = exact; time < now; time += 60) {
    const points = pointsAt(time)
    const before = performance.now()
    file.write(points)
    minutes.push(performance.now() - before)
    if (time % 3_600 !== 0) continue
    const turns = monitorEventLoopDelay({ resolution: 1 })
    turns.enable()
    await file.pack(time)
    turns.disable()
    longestTurn = Math.max(longestTurn, turns.max / 1e6)
    file.prune(time)
  }
  const { user, system } = process.cpuUsage(cpu)
  await file.pack(now)
  // As it is right before an hour is over.
  for (let minute = 0; minute < 59; minute += 1) file.write(pointsAt(now + 60 * minute))
  return { cpuSeconds: (user + system) / 1e6, daysMeasured: 8, minute: median(minutes), longestTurn }
}

/** Numbers of one workload hardly change from minute to minute; bytes do. */
function wandering(): (time: number) => readonly (SeriesName & MetricPoint)[] {
  let seed = 11
  const chance = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return Math.floor((seed / 2_147_483_647) * below)
  }
  const memory = Array.from({ length: workloads }, () => chance(500_000_000))
  return (time) => {
    const used = memory.map((bytes, index) => {
      memory[index] = Math.max(1_000_000, bytes + chance(2_000_000) - 1_000_000)
      const bytesOf = [chance(1_000_000), chance(1_000_000), chance(1_000_000), chance(1_000_000)]
      const values = [chance(3_000), null, memory[index]!, null, ...bytesOf, null, null, null]
      return { project: `p${index % projects}`, workload: `w${index}`, time, values }
    })
    const asked = Array.from({ length: projects }, (_, index) => {
      const values = [null, null, null, null, null, null, null, null, chance(2_000), chance(5), chance(90_000)]
      return { project: `p${index}`, workload: '', time, values }
    })
    return [...used, ...asked]
  }
}

async function measureQueries(file: MetricsFile, now: number, rounds: number) {
  const state = () => ({ bytes: 0, fault: null, damaged: null })
  const { getProjectMetrics } = metricsHandlers({
    store: { projects: { find: async (id: string) => ({ id }) as never } },
    metrics: { read: async () => ({ at: 0, workloads: [], requests: null }), history: { read: file.read, state } },
    model: { all: () => [], status: () => ({}) as never },
    backups: { all: () => [] },
    certificates: () => [],
    logExport: () => ({ lines: 0, dropped: 0 }),
    home: '/',
    version: '0',
    now: () => new Date((now + 59 * 60) * 1000),
  })
  const found = []
  for (const range of ranges) {
    const times: number[] = []
    let bytes = 0
    let points = 0
    // The first rounds compile.
    for (let round = -5; round < rounds; round += 1) {
      const before = performance.now()
      const input = { params: { id: `p${Math.abs(round) % projects}` }, query: { range }, body: undefined }
      const { body } = await getProjectMetrics(input as never, {} as never)
      const text = JSON.stringify(body)
      if (round >= 0) times.push(performance.now() - before)
      bytes = text.length
      points = (body as { items: { cpu: unknown[] }[] }).items[0]?.cpu.length ?? 0
    }
    found.push({ range, points, bytes, p50: median(times), p95: quantile(times, 0.95) })
  }
  return found
}

async function measureScrape(rounds: number) {
  const ids = Array.from({ length: 1_000 }, (_, index) => `prj_${index}`)
  const rows = ids.map((id, index) => ({
    id,
    slug: `project-${index}`,
    engine: 'native',
    spec: { name: `Project ${index}` },
  }))
  const readings = ids.map((project, index) => ({
    ref: { project, workload: 'node' },
    run: 'r',
    cpuSeconds: index * 1.01,
    memoryBytes: 50_000_000 + index,
    processes: 3,
    readBytes: index,
    writtenBytes: index,
    receivedBytes: index,
    sentBytes: index,
  }))
  const requests = ids.map((project, index) => ({
    project,
    classes: [0, index, 1, 2, 3] as const,
    seconds: index / 3,
    bytes: index * 1000,
  }))
  const { getMetrics } = metricsHandlers({
    store: { projects: { find: async () => null } },
    metrics: {
      read: async () => ({ at: 0, workloads: readings, requests }),
      history: { read: async () => new Map(), state: () => ({ bytes: 0, fault: null, damaged: null }) },
    },
    model: { all: () => rows.map((row) => ({ row })) as never, status: () => ({ state: 'running' }) as never },
    backups: { all: () => [] },
    certificates: () => [],
    logExport: () => ({ lines: 0, dropped: 0 }),
    home: tmpdir(),
    version: '0',
    now: () => new Date(),
  })
  const times: number[] = []
  let bytes = 0
  let longestTurn = 0
  for (let round = 0; round < rounds; round += 1) {
    await delay(10)
    const turns = monitorEventLoopDelay({ resolution: 1 })
    turns.enable()
    const before = performance.now()
    const { stream } = await getMetrics({} as never, { header: () => 'application/openmetrics-text' } as never)
    bytes = 0
    for await (const text of stream!) bytes += text.length
    times.push(performance.now() - before)
    await delay(2)
    turns.disable()
    // The first rounds compile.
    if (round > 1) longestTurn = Math.max(longestTurn, turns.max / 1e6)
  }
  return { milliseconds: median(times), bytes, longestTurn }
}
