import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { createProxyControl, ensureProxy } from '@stackquay/proxy/control'
import { atMost, type Benchmark } from './benchmark.ts'

const perSecond = 1_000
const connections = 32

export const benchmark: Benchmark = {
  title: 'Route change',
  about: `${perSecond.toLocaleString('en')} requests/s over ${connections} keep-alive connections, every third a POST with a body, while the route
of their host changes between two programs. "Used" is the time from the command to the first answer of the new program; "left" the time
until the last request was sent that the old one still answered.`,
  async measure({ quick }) {
    const home = await mkdtemp(join(tmpdir(), 'stackquay-bench-'))
    const programs = await Promise.all([startProgram('0'), startProgram('1')])
    const { status } = await ensureProxy({ home, listen: '127.0.0.1:0' })
    const control = createProxyControl(home)
    try {
      const { address, pid } = (await status())!
      let generation = 0
      const lead = (to: number) => {
        generation += 1
        return control.putRoutes(tableTo(programs[to]!.port, generation))
      }
      await lead(0)
      const load = startLoad(address.port)
      await delay(500)
      const changes: Change[] = []
      for (let change = 1; change <= (quick ? 5 : 50); change += 1) {
        const to = change % 2
        const before = performance.now()
        await lead(to)
        const saved = performance.now()
        await delay(200)
        changes.push(changeOf(load.answers, before, saved, String(to)))
      }
      const { failed, answered, seconds } = await load.stop()
      await control.shutdown()
      await ended(pid)
      const used = changes.map((change) => change.used).sort((a, b) => a - b)
      const left = changes.map((change) => change.left).sort((a, b) => a - b)
      const saved = changes.map((change) => change.saved).sort((a, b) => a - b)
      const row = (name: string, values: readonly number[]) => [
        name,
        ...[0.5, 0.99, 1].map((q) => `${at(values, q).toFixed(1)} ms`),
      ]
      return {
        tables: [
          [
            ['', 'median', 'p99', 'slowest'],
            row('the new route is used', used),
            row('the old route is left', left),
            row('the command is answered', saved),
          ],
          [
            ['changes', 'requests', 'per second', 'failed'],
            [String(changes.length), String(answered), (answered / seconds).toFixed(0), String(failed)],
          ],
        ],
        bars: [
          atMost('Requests that failed', failed, 0, 'requests'),
          atMost('New route used, p99', at(used, 0.99), 100, 'ms'),
          atMost('New route used, slowest', Math.max(at(used, 1), at(left, 1)), 100, 'ms'),
        ],
      }
    } finally {
      await control.shutdown()
      for (const program of programs) program.stop()
      await rm(home, { recursive: true, force: true })
    }
  },
}

interface Answer {
  readonly sentAt: number
  readonly at: number
  readonly by: string
}

interface Change {
  readonly used: number
  readonly left: number
  readonly saved: number
}

function changeOf(answers: readonly Answer[], before: number, saved: number, to: string): Change {
  const since = answers.filter(({ at }) => at >= before)
  const first = since.find(({ by }) => by === to)
  const lastOld = Math.max(before, ...since.filter(({ by }) => by !== to).map(({ sentAt }) => sentAt))
  return { used: (first?.at ?? Number.POSITIVE_INFINITY) - before, left: lastOld - before, saved: saved - before }
}

/** So many requests each second, whether or not the earlier ones are answered: a pause of the proxy is seen as one. */
function startLoad(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const answers: Answer[] = []
  const startedAt = performance.now()
  let failed = 0
  let sent = 0
  let open = 0
  const send = () => {
    const sentAt = performance.now()
    const body = sent % 3 === 0 ? 'a body' : undefined
    sent += 1
    open += 1
    const fail = () => {
      failed += 1
      open -= 1
    }
    const call = request(
      {
        port,
        host: '127.0.0.1',
        agent,
        method: body === undefined ? 'GET' : 'POST',
        headers: { host: 'bench.localhost' },
      },
      (response) => {
        let by = ''
        response.setEncoding('latin1')
        response.on('data', (chunk: string) => {
          by += chunk
        })
        response.on('error', fail)
        response.on('end', () => {
          if (response.statusCode !== 200) return fail()
          open -= 1
          answers.push({ sentAt, at: performance.now(), by })
        })
      },
    )
    call.on('error', fail)
    call.end(body)
  }
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) * perSecond) / 1_000
    while (sent < due) send()
  }, 5)
  return {
    answers,
    async stop() {
      clearInterval(timer)
      const seconds = (performance.now() - startedAt) / 1_000
      const deadline = performance.now() + 10_000
      while (open > 0 && performance.now() < deadline) await delay(20)
      agent.destroy()
      return { failed: failed + open, answered: answers.length, seconds }
    },
  }
}

async function startProgram(name: string) {
  const server = createServer((incoming, response) => {
    incoming.resume().on('end', () => response.end(name))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The system gave no port.')
  return {
    port: address.port,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function tableTo(port: number, generation: number) {
  return {
    version: 1 as const,
    generation,
    routes: [
      {
        hosts: ['bench.localhost'],
        project: { id: 'bench', slug: 'bench', name: 'bench' },
        target: { kind: 'upstream' as const, host: '127.0.0.1', port },
      },
    ],
  }
}

async function ended(pid: number): Promise<void> {
  const deadline = performance.now() + 10_000
  while (performance.now() < deadline) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await delay(20)
  }
}

function at(sorted: readonly number[], quantile: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))] ?? Number.POSITIVE_INFINITY
}
