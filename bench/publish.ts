import { createRoutes, type RoutesOptions } from '../apps/server/src/projects/routes.ts'
import { atMost, atMostTimes, type Benchmark } from './benchmark.ts'
import { median, milliseconds } from './numbers.ts'

const counts = [10, 100, 1_000]

export const benchmark: Benchmark = {
  title: 'Telling the proxy',
  about: `What the event loop of the service is busy with when one of many projects changed and the proxy is told: its routes, what differs, and
the text that is sent. The model and the network stand still; the rest is the service's own code.`,
  async measure({ quick }) {
    const rounds = quick ? 50 : 2_000
    const times = new Map<number, number>()
    for (const count of counts) times.set(count, await publishTime(count, rounds))
    const [few, , many] = counts.map((count) => times.get(count)!) as [number, number, number]
    return {
      tables: [
        [['projects', 'one publication'], ...[...times].map(([count, time]) => [`${count}`, milliseconds(time)])],
      ],
      bars: [
        atMost('One publication with 1,000 projects', many * 1000, 500, 'µs'),
        atMostTimes('The same, against 10 projects', many / few, 2),
      ],
    }
  },
}

/** Milliseconds, the median of many publications of which each changes another project. */
async function publishTime(count: number, rounds: number): Promise<number> {
  const ids = Array.from({ length: count }, (_, index) => `prj_${index}`)
  const known = new Map(ids.map((id) => [id, projectOf(id)]))
  let port = 20_000
  const options = {
    model: () => ({
      all: () => [...known.values()],
      find: (id: string) => known.get(id) ?? null,
      status: () => ({ state: 'running', workloads: [{ name: 'web', state: 'running' }], warnings: [] }),
    }),
    engine: { address: async () => ({ host: '127.0.0.1', port }) },
    resolver: { host: (slug: string, suffix = '') => `${slug}${suffix}.localhost`, shareDomain: 'share.localhost' },
    config: { trustedProxies: [], publicUrl: 'http://127.0.0.1:8700' },
    network: { of: () => ({ domains: [], rules: null, share: null }) },
    // What the control socket is given.
    put: async ({ changes }: { changes: object }) => void JSON.stringify(changes),
    onError: (error: unknown) => {
      throw error
    },
  }
  const routes = createRoutes(options as unknown as RoutesOptions)
  await routes.publishAll()
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    port = 20_000 + (round % 20_000)
    const began = performance.now()
    await routes.publish([ids[round % count]!])
    times.push(performance.now() - began)
  }
  return median(times)
}

function projectOf(id: string) {
  return {
    row: { id, slug: id.replace('_', '-'), spec: { name: id } },
    resolved: { extraHosts: [{ suffix: '-dev', workload: 'web' }], front: { workload: 'web', port: 'http' } },
    leases: [],
  }
}
