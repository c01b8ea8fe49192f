import { setTimeout as delay } from 'node:timers/promises'
import type { Benchmark, Measured } from './benchmark.ts'
import { applyChange, type DockerWorld, PROJECT, removeWorkload, withDocker, workloadOf } from './docker-world.ts'

const CONTAINERS = 30
const LIMIT = 2

export const benchmark: Benchmark = {
  title: 'Statistics of containers',
  about: `${CONTAINERS} running containers of one project, measured by our engine once a second. What counts is the processor time of
the whole process in which the engine runs, all its threads, over half a minute, in percent of one core. Ten seconds before it without
measuring are told beside.`,
  measure: ({ quick }) => withDocker(['debian'], (world) => measure(world, quick ? 3 : 30)),
}

async function measure({ engine, lab }: DockerWorld, seconds: number): Promise<Measured> {
  const workloads = Array.from({ length: CONTAINERS }, (_, number) =>
    workloadOf({
      name: `sleeper-${number}`,
      image: lab.image('debian'),
      user: '48211:48211',
      argv: ['/bin/sleep', '600'],
    }),
  )
  await Promise.all(workloads.map((workload) => applyChange(engine, { type: 'start', workload }, 'start')))
  const signal = AbortSignal.timeout(120_000)
  const first = await engine.stats(PROJECT, signal)
  if (first.length !== CONTAINERS) throw new Error(`${first.length} of ${CONTAINERS} containers were measured.`)
  const idle = await coreShare(Math.min(seconds, 10), async () => {})
  const busy = await coreShare(seconds, async () => {
    const samples = await engine.stats(PROJECT, signal)
    if (!samples.every(({ cpu, memoryBytes }) => cpu !== null && memoryBytes > 0)) throw new Error('A sample is empty.')
  })
  await Promise.all(workloads.map((workload) => removeWorkload(engine, workload)))
  return {
    tables: [
      [
        [`${CONTAINERS} containers, ${seconds} s`, 'of one core'],
        ['without measuring', `${idle.toFixed(2)} %`],
        ['measured every second', `${busy.toFixed(2)} %`],
      ],
    ],
    bars: [
      {
        what: 'Measuring every second',
        measured: `${busy.toFixed(2)} % of a core`,
        bar: `≤ ${LIMIT} %`,
        kept: busy <= LIMIT,
      },
    ],
  }
}

async function coreShare(seconds: number, each: () => Promise<void>): Promise<number> {
  const began = performance.now()
  const before = process.cpuUsage()
  for (let second = 1; second <= seconds; second += 1) {
    await each()
    await delay(Math.max(0, began + second * 1000 - performance.now()))
  }
  const { user, system } = process.cpuUsage(before)
  return ((user + system) / 1000 / (performance.now() - began)) * 100
}
