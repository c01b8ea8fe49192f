import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createProxyControl, ensureProxy } from '@stackquay/proxy/control'
import { atLeast, type Benchmark } from './benchmark.ts'
import { cpuMilliseconds } from './instance.ts'
import { median, medianRatio, perSecond, quantile } from './numbers.ts'
import { startPage } from './proxy/contestants.ts'
import { requestsPerSecondToHosts, requireWrk } from './wrk.ts'

const few = 10
const many = 1_000

export const benchmark: Benchmark = {
  title: 'Many hosts',
  about: `Two proxies of one process each, one with ${few} hosts and one with ${many.toLocaleString('en')}, and three such pairs one after the
other, because each process is compiled a little differently as it runs. Each host is a project of its own: with an access log
of its own, and with rules of its own (addresses that are let in, a redirect, a header of the answer). All lead to the same upstream, so that only the
number of hosts differs. 1 KB answers from nginx, \`wrk -t1 -c32\`, each request to the next host ([hosts.lua](../proxy/hosts.lua)), in
alternating rounds that are longer than the access log rests between two writes; "quiet" is the upper quartile of the rounds, which
something else on the machine hit least. CPU is that of the proxy, its writing included. The same load on the upstream alone shows what
the load itself makes of many hosts.`,
  async measure({ quick }) {
    requireWrk()
    const [pairs, rounds, seconds, secondsAlone] = quick ? [1, 1, 1, 1] : [3, 2, 11, 3]
    const home = await mkdtemp(join(tmpdir(), 'stackquay-bench-'))
    const page = await startPage(home)
    const seen: Seen[][] = [[], [], [], []]
    try {
      for (let pair = 1; pair <= pairs; pair += 1) {
        const sides: Side[] = []
        try {
          for (const hosts of [few, many]) {
            sides.push(await startSide(join(home, `${pair}-${hosts}`), hosts, page.port, seconds))
          }
          for (const hosts of [few, many]) sides.push(sideOf('the upstream alone', hosts, page, secondsAlone))
          for (let round = 0; round <= rounds; round += 1) {
            for (const side of sides) {
              const rate = await requestsPerSecondToHosts(side.port, side.hosts, side.seconds)
              // The first round warms up, and makes the folders of the access logs.
              if (round === 0) side.cpuBefore = cpuMilliseconds(side.pid)
              else side.rates.push(rate)
            }
          }
          for (const [index, side] of sides.entries()) {
            const requests = side.rates.reduce((sum, rate) => sum + rate * side.seconds, 0)
            const cpu = ((cpuMilliseconds(side.pid) - side.cpuBefore) / requests) * 1_000
            seen[index]!.push({ ...side, cpu })
          }
        } finally {
          for (const { stop } of sides) await stop()
        }
      }
    } finally {
      await page.stop()
      await rm(home, { recursive: true, force: true, maxRetries: 20 })
    }
    const all = seen.map((some) => ({
      ...some[0]!,
      rates: some.flatMap(({ rates }) => rates),
      cpu: median(some.map(({ cpu }) => cpu)),
    }))
    const [fewHosts, manyHosts, fewDirect, manyDirect] = all as [Seen, Seen, Seen, Seen]
    const ratio = medianRatio(manyHosts.rates, fewHosts.rates)
    return {
      tables: [
        [
          ['', 'hosts', 'requests/s', 'quiet', 'CPU of a request'],
          ...all.map(({ name, hosts, rates, cpu }) => [
            name,
            hosts.toLocaleString('en'),
            perSecond(median(rates)),
            perSecond(quantile(rates, 0.75)),
            // nginx serves in a process of its own, which is not watched.
            name === 'Stackquay' ? `${cpu.toFixed(1)} µs` : '',
          ]),
        ],
        [
          ['many against few', 'median of the rounds', 'quiet', 'CPU of a request'],
          [
            'Stackquay',
            `${ratio.toFixed(2)} ×`,
            `${(quantile(manyHosts.rates, 0.75) / quantile(fewHosts.rates, 0.75)).toFixed(2)} ×`,
            `${(manyHosts.cpu / fewHosts.cpu).toFixed(2)} ×`,
          ],
          [
            'the upstream alone',
            `${medianRatio(manyDirect.rates, fewDirect.rates).toFixed(2)} ×`,
            `${(quantile(manyDirect.rates, 0.75) / quantile(fewDirect.rates, 0.75)).toFixed(2)} ×`,
            '',
          ],
        ],
      ],
      bars: [atLeast('1,000 hosts with rules, against 10', ratio, 0.95)],
    }
  },
}

interface Side {
  readonly name: string
  readonly hosts: number
  readonly port: number
  readonly pid: number
  /** Of a round. */
  readonly seconds: number
  readonly rates: number[]
  cpuBefore: number
  stop(): Promise<void>
}

interface Seen extends Side {
  /** Microseconds of the processor for each request, with what is written while another is measured. */
  readonly cpu: number
}

function sideOf(
  name: string,
  hosts: number,
  { port, pid }: Pick<Side, 'port' | 'pid'>,
  seconds: number,
  stop = async () => {},
): Side {
  return { name, hosts, port, pid, seconds, rates: [], cpuBefore: 0, stop }
}

async function startSide(home: string, hosts: number, upstream: number, seconds: number): Promise<Side> {
  await ensureProxy({ home, listen: '127.0.0.1:0', workers: 1 })
  const control = createProxyControl(home)
  const routes = Array.from({ length: hosts }, (_, index) => routeOf(index, upstream))
  const { address, pid } = await control.putRoutes({ version: 1, generation: 1, routes })
  return sideOf('Stackquay', hosts, { port: address.port, pid }, seconds, () => control.shutdown())
}

function routeOf(index: number, port: number) {
  const slug = `project-${index + 1}`
  return {
    hosts: [`${slug}.localhost`],
    project: { id: slug, slug, name: slug },
    target: { kind: 'upstream', host: '127.0.0.1', port },
    rules: {
      allow: [`10.${index >>> 8}.${index & 255}.0/24`, '127.0.0.0/8', '::1'],
      redirects: [{ from: `/${slug}/*`, host: null, to: '/new/*', status: 301 }],
      responseHeaders: [{ name: 'x-frame-options', value: `ALLOW-FROM https://${slug}.example` }],
    },
  } as const
}
