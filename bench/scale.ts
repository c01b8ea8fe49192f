import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '@stackquay/client'
import { atLeast, atMost, atMostTimes, type Bar, type Benchmark, type Table } from './benchmark.ts'
import { root } from './command.ts'
import { cpuMilliseconds, proxyPid, residentMemory } from './instance.ts'
import { median, medianRatio, milliseconds, quantile } from './numbers.ts'
import { createProjects, newScaleHome, type RunningScale, type ScaleHome } from './scale-home.ts'

export const benchmark: Benchmark = {
  title: 'Many projects',
  about: `Homes with none, 10, 100 and 1,000 stopped projects of two templates, measured in alternating rounds; with \`--against <folder>\` also those
of another checkout, home by home beside this one's. Boot is from the command until \`/health\` answers 200, with the proxy started beside it and
compiled code cached; "found" is until the first list of projects is answered, which waits until all of them were looked at. Memory
is resident and idle processor time is of the service and its proxy, both after a rest. Requests go one after the other over one connection: the first ten of the list and its whole first page (of 50) after
one of its projects changed, one project, a changed name. Creation is in blocks that alternate between the checkouts, one project after the other and
eight at once, each waited for until it is ready; as root each project gets a system user of its own. Ratios are taken round by round.`,
  async measure({ quick, against }) {
    const plan = quick ? quickPlan : fullPlan
    const sides: Side[] = [{ name: 'this', checkout: root }]
    if (against !== undefined) sides.push({ name: 'other', checkout: against })
    const homes: ScaleHome[][] = []
    try {
      const rates = await fill(homes, sides, plan)
      const looks = await measureRounds(homes, plan)
      return { tables: tablesOf(sides, plan, looks, rates), bars: barsOf(looks, rates, plan) }
    } finally {
      for (const home of homes.flat()) await home.remove()
    }
  },
}

interface Side {
  readonly name: string
  readonly checkout: string
}

interface Plan {
  /** The first has none: what is paid without projects. */
  readonly counts: readonly number[]
  readonly rounds: number
  readonly restMs: number
  readonly idleMs: number
  readonly requests: number
  readonly starts: number
  /** Projects created in one block. */
  readonly block: number
}

const fullPlan: Plan = {
  counts: [0, 10, 100, 1_000],
  rounds: 5,
  restMs: 8_000,
  idleMs: 10_000,
  requests: 200,
  starts: 3,
  block: 50,
}
const quickPlan: Plan = {
  counts: [0, 10, 60],
  rounds: 1,
  restMs: 1_000,
  idleMs: 2_000,
  requests: 20,
  starts: 1,
  block: 10,
}

interface Rates {
  readonly inTurn: number[]
  readonly together: number[]
}

/** Makes a home for each count and side, block by block beside each other. Answers the rates of the largest, by side. */
async function fill(homes: ScaleHome[][], sides: readonly Side[], plan: Plan): Promise<readonly Rates[]> {
  let rates: readonly Rates[] = []
  for (const count of plan.counts) {
    const row: ScaleHome[] = []
    homes.push(row)
    for (const { checkout } of sides) row.push(await newScaleHome(checkout, count))
    const running: RunningScale[] = []
    rates = sides.map(() => ({ inTurn: [], together: [] }))
    try {
      for (const home of row) running.push(await home.start())
      for (let from = 1, block = 0; from <= count; from += plan.block, block += 1) {
        for (const [side, { client }] of running.entries()) {
          const together = block % 2 === 0 ? 1 : 8
          const rate = await createProjects(client, { from, count: Math.min(plan.block, count - from + 1), together })
          // The first blocks only warm up.
          if (block > 1) rates[side]![together === 1 ? 'inTurn' : 'together'].push(rate)
        }
      }
    } finally {
      for (const service of running) await service.end()
    }
  }
  return rates
}

interface Look {
  readonly boot: number
  readonly found: number
  readonly server: number
  readonly proxy: number
  /** Per cent of a core. */
  readonly idle: number
  readonly list: readonly number[]
  readonly page: readonly number[]
  readonly one: readonly number[]
  readonly patch: readonly number[]
  readonly start: readonly number[]
  readonly stop: readonly number[]
}

/** By count, then by side, then by round. */
type Looks = readonly (readonly (readonly Look[])[])[]

async function measureRounds(homes: readonly (readonly ScaleHome[])[], plan: Plan): Promise<Looks> {
  const looks = homes.map((row) => row.map((): Look[] => []))
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const [count, row] of homes.entries())
      for (const [side, home] of row.entries()) looks[count]![side]!.push(await look(home, plan))
  }
  return looks
}

async function look(home: ScaleHome, plan: Plan): Promise<Look> {
  const began = performance.now()
  const service = await home.start()
  try {
    const { client, took } = service
    await client.call('listProjects', { query: { limit: 1 } })
    const found = performance.now() - began
    const processes = [service.pid, await proxyOf(home)]
    await delay(plan.restMs)
    const used = () => processes.reduce((sum, pid) => sum + cpuMilliseconds(pid), 0)
    const before = used()
    await delay(plan.idleMs)
    const idle = ((used() - before) / plan.idleMs) * 100
    const [server = 0, proxy = 0] = processes.map((pid) => residentMemory(pid).all)
    const requests = home.projects === 0 ? noRequests : await timeRequests(client, plan)
    return { boot: took, found, server, proxy, idle, ...requests }
  } finally {
    await service.end()
  }
}

/** It is started beside the service. */
async function proxyOf({ path }: ScaleHome): Promise<number> {
  const isThere = () => existsSync(join(path, 'proxy', 'proxy.json')) && existsSync(`/proc/${proxyPid(path)}`)
  for (let tries = 0; tries < 300 && !isThere(); tries += 1) await delay(100)
  return proxyPid(path)
}

const noRequests = { list: [], page: [], one: [], patch: [], start: [], stop: [] }

async function timeRequests(client: Client, { requests, starts }: Plan) {
  const params = { id: 'project-1' }
  const rename = (index: number) => client.call('updateProject', { params, body: { name: `Name ${index}` } })
  const read = () => client.call('getProject', { params })
  // The same bytes, however many projects there are.
  const list = () => client.call('listProjects', { query: { limit: 10 } })
  const wholePage = () => client.call('listProjects', { query: {} })
  await timed(requests / 4, [rename, list, wholePage, read])
  const [patch = [], lists = []] = await timed(requests, [rename, list])
  const [, pages = []] = await timed(requests, [rename, wholePage])
  const [one = []] = await timed(requests, [read])
  const [start = [], stop = []] = await timed(starts, [
    () => client.call('startProject', { params, query: { wait: 60 } }),
    () => client.call('stopProject', { params, query: { wait: 60 } }),
  ])
  return { list: lists, page: pages, one, patch, start, stop }
}

/** One act after the other, so many times; the milliseconds of each. */
async function timed(
  times: number,
  acts: readonly ((index: number) => Promise<unknown>)[],
): Promise<readonly (readonly number[])[]> {
  const found = acts.map((): number[] => [])
  for (let index = 0; index < times; index += 1) {
    for (const [which, act] of acts.entries()) {
      const began = performance.now()
      await act(index)
      found[which]!.push(performance.now() - began)
    }
  }
  return found
}

type Reading = { readonly name: string; readonly of: (look: Look) => number; text(value: number): string }

const p50 = (times: readonly number[]) => quantile(times, 0.5)
const p95 = (times: readonly number[]) => quantile(times, 0.95)
const megabytes = (value: number) => `${value.toFixed(1)} MB`

/** What is there without projects too. */
const atRest: readonly Reading[] = [
  { name: 'boot until `/health`', of: ({ boot }) => boot, text: milliseconds },
  { name: 'boot until all are found', of: ({ found }) => found, text: milliseconds },
  { name: 'service, resident', of: ({ server }) => server, text: megabytes },
  { name: 'proxy, resident', of: ({ proxy }) => proxy, text: megabytes },
  { name: 'idle, of a core', of: ({ idle }) => idle, text: (value) => `${value.toFixed(2)} %` },
]

const ofRequests: readonly Reading[] = [
  { name: 'first ten of the list, p50', of: ({ list }) => p50(list), text: milliseconds },
  { name: 'first ten of the list, p95', of: ({ list }) => p95(list), text: milliseconds },
  { name: 'first page of the list, p95', of: ({ page }) => p95(page), text: milliseconds },
  { name: 'one project, p50', of: ({ one }) => p50(one), text: milliseconds },
  { name: 'one project, p95', of: ({ one }) => p95(one), text: milliseconds },
  { name: 'PATCH of the name, p50', of: ({ patch }) => p50(patch), text: milliseconds },
  { name: 'PATCH of the name, p95', of: ({ patch }) => p95(patch), text: milliseconds },
  { name: 'start of one', of: ({ start }) => p50(start), text: milliseconds },
  { name: 'stop of one', of: ({ stop }) => p50(stop), text: milliseconds },
]

function tablesOf(sides: readonly Side[], plan: Plan, looks: Looks, rates: readonly Rates[]): readonly Table[] {
  const named = (name: string, side: number) => (sides.length === 1 ? name : `${name}, ${sides[side]!.name}`)
  const rows = [...atRest, ...ofRequests].flatMap((reading) =>
    sides.map((_, side) => [
      named(reading.name, side),
      ...plan.counts.map((count, at) =>
        count === 0 && ofRequests.includes(reading)
          ? ''
          : reading.text(median(looks[at]![side]!.map((one) => reading.of(one)))),
      ),
    ]),
  )
  const creation = sides.map(({ name }, side) => [
    name,
    ...[rates[side]!.inTurn, rates[side]!.together].map((values) => median(values).toFixed(1)),
  ])
  return [
    [['', ...plan.counts.map((count) => count.toLocaleString('en'))], ...rows],
    [['created in a second', 'one after the other', 'eight at once'], ...creation],
  ]
}

function barsOf(looks: Looks, rates: readonly Rates[], { counts }: Plan): readonly Bar[] {
  const ours = (at: number) => looks[at]![0]!
  const [none, few, most] = [ours(0), ours(1), ours(counts.length - 1)]
  const ratio = (over: readonly Look[], under: readonly Look[], of: Reading['of']) =>
    medianRatio(over.map(of), under.map(of))
  const name = counts.at(-1)!.toLocaleString('en')
  const memory = ({ server, proxy }: Look) => server + proxy
  const each = median(most.map((one, round) => ((memory(one) - memory(none[round]!)) * 1024) / counts.at(-1)!))
  return [
    atMostTimes(
      `Boot until \`/health\` with ${name}, against none`,
      ratio(most, none, ({ boot }) => boot),
      1.3,
    ),
    atMost(`Memory of service and proxy for each of ${name}`, each, 40, 'KB'),
    atMostTimes(
      `First ten of the list, p95, with ${name} against ${counts[1]}`,
      ratio(most, few, ({ list }) => p95(list)),
      1.2,
    ),
    atMostTimes(
      `PATCH, p95, with ${name} against ${counts[1]}`,
      ratio(most, few, ({ patch }) => p95(patch)),
      1.2,
    ),
    {
      what: `Idle with ${name}`,
      measured: `${median(most.map(({ idle }) => idle)).toFixed(2)} %`,
      bar: '≤ 0.5 %',
      kept: median(most.map(({ idle }) => idle)) <= 0.5,
    },
    ...(rates.length === 1
      ? []
      : (['inTurn', 'together'] as const).map((how) =>
          atLeast(
            `Creation, ${how === 'inTurn' ? 'one after the other' : 'eight at once'}, against the other`,
            medianRatio(rates[0]![how], rates[1]![how]),
            3,
          ),
        )),
  ]
}
