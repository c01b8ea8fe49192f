import type { Client } from '@stackquay/client'
import { atMostTimes, type Bar, type Benchmark, type Table } from './benchmark.ts'
import { root } from './command.ts'
import { cpuMilliseconds } from './instance.ts'
import { median, medianRatio, milliseconds, quantile } from './numbers.ts'
import { createProjects, newScaleHome, type RunningScale, type ScaleHome } from './scale-home.ts'

const projects = 50

export const benchmark: Benchmark = {
  title: 'Reading and changing one project',
  about: `Requests one after the other over one connection, to one of ${projects} stopped projects; with \`--against <folder>\` also of another checkout, in
short rounds that alternate. The changed name is written with its audit entry and event in one transaction that is on disk before the answer;
nothing is restarted. Processor time is of the service, with all its threads, for one request: it says the same on a busy machine. Ratios are taken round by round.`,
  async measure({ quick, against }) {
    const plan = quick ? { rounds: 2, requests: 20 } : { rounds: 21, requests: 50 }
    const checkouts = [root, ...(against === undefined ? [] : [against])]
    const homes: ScaleHome[] = []
    const running: RunningScale[] = []
    try {
      for (const checkout of checkouts) homes.push(await newScaleHome(checkout, projects))
      for (const home of homes) running.push(await home.start())
      for (const { client } of running) await createProjects(client, { from: 1, count: projects, together: 4 })
      const found = acts.map(() => running.map((): Round[] => []))
      for (let round = 0; round <= plan.rounds; round += 1) {
        for (const [which, { act }] of acts.entries()) {
          for (const [side, service] of running.entries()) {
            const measured = await measureRound(service, act, { round, requests: plan.requests })
            // The first round only warms up.
            if (round > 0) found[which]![side]!.push(measured)
          }
        }
      }
      return { tables: [tableOf(found)], bars: barsOf(found) }
    } finally {
      for (const service of running) await service.end()
      for (const home of homes) await home.remove()
    }
  },
}

interface Round {
  readonly times: readonly number[]
  /** Of one request, in milliseconds. */
  readonly cpu: number
}

/** By act, then by side, then by round. */
type Found = readonly (readonly (readonly Round[])[])[]

const params = { id: 'project-1' }
const rename = (client: Client, name: string) => client.call('updateProject', { params, body: { name } })

const acts: readonly { readonly name: string; act(client: Client, text: string): Promise<unknown> }[] = [
  { name: 'GET, one project', act: (client) => client.call('getProject', { params }) },
  { name: 'PATCH of the name', act: (client, text) => rename(client, `Name ${text}`) },
  // After the one before, so that it has that name already but for the first time.
  { name: 'PATCH with what it is already', act: (client) => rename(client, 'Same') },
]

async function measureRound(
  { client, pid }: RunningScale,
  act: (client: Client, text: string) => Promise<unknown>,
  { round, requests }: { readonly round: number; readonly requests: number },
): Promise<Round> {
  const times: number[] = []
  await act(client, `${round}`)
  const before = cpuMilliseconds(pid)
  for (let index = 0; index < requests; index += 1) {
    const began = performance.now()
    await act(client, `${round}-${index}`)
    times.push(performance.now() - began)
  }
  return { times, cpu: (cpuMilliseconds(pid) - before) / requests }
}

const p95 = ({ times }: Round) => quantile(times, 0.95)
const p50 = ({ times }: Round) => median(times)

function tableOf(found: Found): Table {
  const rows = acts.flatMap(({ name }, which) =>
    found[which]!.map((rounds, side) => [
      found[which]!.length === 1 ? name : `${name}, ${side === 0 ? 'this' : 'other'}`,
      milliseconds(median(rounds.map(p50))),
      milliseconds(median(rounds.map(p95))),
      milliseconds(rounds.reduce((sum, { cpu }) => sum + cpu, 0) / rounds.length),
    ]),
  )
  return [['', 'p50', 'p95', 'processor time'], ...rows]
}

function barsOf(found: Found): readonly Bar[] {
  const [ours = [], other] = found[acts.findIndex(({ name }) => name === 'PATCH of the name')]!
  if (other === undefined) return []
  return [atMostTimes('PATCH of the name, p95, against the other', medianRatio(ours.map(p95), other.map(p95)), 0.5)]
}
