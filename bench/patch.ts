import { setTimeout as delay } from 'node:timers/promises'
import type { Benchmark } from './benchmark.ts'
import { makeProjects, projectCount, withService } from './instance.ts'
import { median, milliseconds, quantile } from './numbers.ts'

export const benchmark: Benchmark = {
  title: 'Reading and changing one project',
  about: `Requests one after the other over one connection, to a running project among ${projectCount} stopped ones. The changed
name is written with its audit entry and event in one transaction that is on disk before the answer; nothing is restarted.`,
  measure: async ({ quick }) => {
    const count = quick ? 50 : 400
    const measured = await withService(async (service) => {
      await makeProjects(service)
      const { client } = service
      await client.call('startProject', { params: { id: 'project-1' }, query: { wait: 60 } })
      const read = { params: { id: 'project-1' } }
      const change = (name: string) => client.call('updateProject', { ...read, body: { name } })
      const acts = {
        'GET, one project': () => client.call('getProject', read),
        'PATCH with what it is already': () => change('Same'),
        'PATCH of the name': (index: number) => change(`Name ${index}`),
      }
      const times = new Map<string, number[]>()
      for (const [name, act] of Object.entries(acts)) {
        if (name.endsWith('already')) await change('Same')
        await repeat(20, act)
        times.set(name, await repeat(count, act))
        await delay(200)
      }
      return times
    })
    return {
      tables: [
        [
          ['', 'median', 'p95', 'p99'],
          ...[...measured].map(([name, times]) => [
            name,
            milliseconds(median(times)),
            milliseconds(quantile(times, 0.95)),
            milliseconds(quantile(times, 0.99)),
          ]),
        ],
      ],
      bars: [],
    }
  },
}

async function repeat(count: number, act: (index: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let index = 0; index < count; index += 1) {
    const began = performance.now()
    await act(index)
    times.push(performance.now() - began)
  }
  return times
}
