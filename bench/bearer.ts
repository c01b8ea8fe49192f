import type { Benchmark } from './benchmark.ts'
import { startHelper } from './helper-process.ts'
import { median, perSecond } from './numbers.ts'
import { requestsPerSecond, requireWrk } from './wrk.ts'

export const benchmark: Benchmark = {
  title: 'Cost of the bearer check',
  about: `One route of a bare Fastify, open and behind the service's own admission hook ([bearer-server.ts](../bearer-server.ts): the
authenticator and the policy over a real store), in one process, \`wrk -t1 -c32\`, alternating rounds. The cost is the
difference of the times per request, taken round by round.`,
  measure: async ({ quick }) => {
    requireWrk()
    const [rounds, seconds] = quick ? [2, 1] : [11, 2]
    const helper = await startHelper('bearer-server.ts', [])
    try {
      const base = `http://127.0.0.1:${helper.port}`
      const token = await (await fetch(`${base}/token`)).text()
      const headers = { authorization: `Bearer ${token}` }
      const found: { open: number; checked: number }[] = []
      for (let round = 0; round <= rounds; round += 1) {
        const open = await requestsPerSecond(`${base}/open`, seconds, headers)
        const checked = await requestsPerSecond(`${base}/checked`, seconds, headers)
        // The first round only warms up.
        if (round > 0) found.push({ open, checked })
      }
      const cost = median(found.map(({ open, checked }) => 1e6 / checked - 1e6 / open))
      return {
        tables: [
          [
            ['route', 'requests/s'],
            ['open', perSecond(median(found.map(({ open }) => open)))],
            ['with the check', perSecond(median(found.map(({ checked }) => checked)))],
            ['**the check**', `${cost.toFixed(1)} µs per request`],
          ],
        ],
        bars: [],
      }
    } finally {
      await helper.stop()
    }
  },
}
