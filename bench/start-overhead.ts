import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readlinkSync, statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Service } from '../e2e/support/service.ts'
import { atMost, type Benchmark } from './benchmark.ts'
import { withService } from './instance.ts'
import { measureIsolation } from './isolation-start.ts'
import { median, milliseconds, quantile } from './numbers.ts'

const templates = ['static', 'express', 'flask'] as const

export const benchmark: Benchmark = {
  title: 'What a start costs beyond the application',
  about: `From \`POST /projects/{id}/start\` until the first 200 through the proxy, less the time until the same program (same
arguments, folder, environment and user, started by hand) first answers 200 at its own port. Rounds alternate; the overhead is
taken round by round. Both are asked every 2 ms.

Then, as root: the same start on each level of isolation, one service each, their rounds alternating. The ratio to level \`shared\`
is taken round by round; \`user\` has control groups where the machine has them.`,
  measure: async ({ quick }) => {
    const rounds = quick ? 3 : 21
    const kinds = quick ? templates.slice(0, 2) : templates
    const measured = await withService(async (service) => {
      const all: { template: string; rounds: readonly Round[] }[] = []
      for (const template of kinds) all.push({ template, rounds: await measureRounds(service, template, rounds) })
      return all
    })
    const rows = measured.map(({ template, rounds: of }) => {
      const overhead = of.map(({ started, byHand }) => started - byHand)
      return [
        template,
        milliseconds(median(of.map(({ started }) => started))),
        milliseconds(median(of.map(({ byHand }) => byHand))),
        milliseconds(median(overhead)),
        milliseconds(quantile(overhead, 0.95)),
      ]
    })
    const levels = process.getuid?.() === 0 ? await measureIsolation({ quick, timeStart }) : { tables: [], bars: [] }
    return {
      tables: [[['application', 'started by the service', 'by hand', 'overhead', 'p95'], ...rows], ...levels.tables],
      bars: [
        ...measured.map(({ template, rounds: of }) =>
          atMost(`Overhead, ${template}, median of ${rounds}`, median(of.map(overheadOf)), 150, 'ms'),
        ),
        ...levels.bars,
      ],
    }
  },
}

interface Round {
  readonly started: number
  readonly byHand: number
}

function overheadOf({ started, byHand }: Round): number {
  return started - byHand
}

async function measureRounds(service: Service, template: string, rounds: number): Promise<readonly Round[]> {
  const { client } = service
  const slug = `bench-${template}`
  await client.call('createProject', { body: { name: slug, slug, template, start: true }, query: { wait: 300 } })
  const program = await programOf(service, slug)
  await client.call('stopProject', { params: { id: slug }, query: { wait: 60 } })
  const measured: Round[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const byHand = await timeByHand(program)
    const started = await timeStart(service, slug)
    await client.call('stopProject', { params: { id: slug }, query: { wait: 60 } })
    // The first round only warms up.
    if (round > 0) measured.push({ started, byHand })
  }
  return measured
}

export async function timeStart(service: Service, slug: string): Promise<number> {
  const url = new URL(`http://127.0.0.1:${service.proxyPort}/`)
  const agent = new Agent({ keepAlive: true })
  const began = performance.now()
  const accepted = service.client.call('startProject', { params: { id: slug } })
  await untilOk(url, agent, { host: `${slug}.localhost` })
  const took = performance.now() - began
  const { id } = await accepted
  await service.client.call('getOperation', { params: { op: id }, query: { wait: 60 } })
  agent.destroy()
  return took
}

interface Program {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly uid: number
  readonly gid: number
  readonly url: URL
}

/** What runs now, as the kernel knows it. */
async function programOf({ client }: Service, slug: string): Promise<Program> {
  const { status } = await client.call('getProject', { params: { id: slug } })
  const [workload] = status.workloads
  if (workload?.pid == null) throw new Error(`${slug} does not run: ${JSON.stringify(status)}`)
  // The workload's own process keeps the exit code of its one child: the program.
  const pid = Number(readFileSync(`/proc/${workload.pid}/task/${workload.pid}/children`, 'utf8').trim().split(' ')[0])
  const list = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8').split('\0').slice(0, -1)
  const pairs = list('environ').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])
  // With the mark of a run the service would take it for its own.
  const env = Object.fromEntries(pairs.filter(([name]) => name !== 'STACKQUAY_RUN')) as Record<string, string>
  const { uid, gid } = statSync(`/proc/${pid}`)
  const port = workload.ports.find(({ name }) => name === 'http')?.hostPort
  return {
    argv: list('cmdline'),
    cwd: readlinkSync(`/proc/${pid}/cwd`),
    env,
    uid,
    gid,
    url: new URL(`http://127.0.0.1:${port}/`),
  }
}

async function timeByHand({ argv, cwd, env, uid, gid, url }: Program): Promise<number> {
  const [file = '', ...args] = argv
  const agent = new Agent({ keepAlive: true })
  const began = performance.now()
  const child = spawn(file, args, {
    cwd,
    env,
    detached: true,
    stdio: 'ignore',
    ...(process.getuid?.() === 0 ? { uid, gid } : {}),
  })
  try {
    await untilOk(url, agent, {}, child)
    return performance.now() - began
  } finally {
    agent.destroy()
    await endGroup(child)
  }
}

async function untilOk(url: URL, agent: Agent, headers: Record<string, string>, child?: ChildProcess): Promise<void> {
  const deadline = Date.now() + 60_000
  while ((await statusOf(url, agent, headers)) !== 200) {
    if (child != null && child.exitCode !== null) throw new Error(`The program ended with ${child.exitCode}.`)
    if (Date.now() > deadline) throw new Error(`No 200 from ${url} within a minute.`)
    await delay(2)
  }
}

function statusOf(url: URL, agent: Agent, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve) => {
    request(url, { agent, headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
    })
      .on('error', () => resolve(0))
      .end()
  })
}

async function endGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  process.kill(-child.pid!, 'SIGKILL')
  await ended
}
