import { type Service, startService } from '../e2e/support/service.ts'
import { atMostTimes, type Measured } from './benchmark.ts'
import { median, medianRatio, milliseconds, quantile } from './numbers.ts'

const levels = ['shared', 'user', 'sandbox'] as const
const bars = { user: 1.15, sandbox: 1.25 } as const
const templates = ['static', 'express'] as const

/** Until the first 200 through the proxy. */
type TimeStart = (service: Service, slug: string) => Promise<number>

/** What a start costs on each level of isolation: three services of one machine take turns. */
export async function measureIsolation({
  quick,
  timeStart,
}: {
  readonly quick: boolean
  readonly timeStart: TimeStart
}): Promise<Measured> {
  const rounds = quick ? 3 : 21
  const services: Service[] = []
  try {
    for (const level of levels) services.push(await startService({ env: { STACKQUAY_ISOLATION: level } }))
    const measured = []
    for (const template of templates)
      measured.push({ template, times: await measureRounds(services, template, rounds, timeStart) })
    return {
      tables: [[['application', 'level', 'start, median', 'p95', 'against shared'], ...measured.flatMap(rowsOf)]],
      bars: measured.flatMap(({ template, times }) =>
        (['user', 'sandbox'] as const).map((level) =>
          atMostTimes(
            `Start on level ${level}, ${template}, against level shared, median of ${rounds}`,
            medianRatio(times[level], times.shared),
            bars[level],
          ),
        ),
      ),
    }
  } finally {
    for (const service of services) await service.close()
  }
}

type Times = Record<(typeof levels)[number], number[]>

async function measureRounds(
  services: readonly Service[],
  template: string,
  rounds: number,
  timeStart: TimeStart,
): Promise<Times> {
  const slug = `level-${template}`
  const params = { id: slug }
  const query = { wait: 300 }
  for (const { client } of services) {
    await client.call('createProject', { body: { name: slug, slug, template, start: true }, query })
    await client.call('stopProject', { params, query })
  }
  const times: Times = { shared: [], user: [], sandbox: [] }
  for (let round = 0; round <= rounds; round += 1) {
    // Each of them is the first as often as the others.
    for (let turn = 0; turn < levels.length; turn += 1) {
      const at = (round + turn) % levels.length
      const took = await timeStart(services[at]!, slug)
      await services[at]!.client.call('stopProject', { params, query })
      // The first round only warms up.
      if (round > 0) times[levels[at]!].push(took)
    }
  }
  return times
}

function rowsOf({ template, times }: { readonly template: string; readonly times: Times }): string[][] {
  return levels.map((level) => [
    template,
    level,
    milliseconds(median(times[level])),
    milliseconds(quantile(times[level], 0.95)),
    `${medianRatio(times[level], times.shared).toFixed(2)} ×`,
  ])
}
