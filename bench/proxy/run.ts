import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { allCores, type Contestant, caddy, haproxy, nginx, stackquay, startEcho, startPage } from './contestants.ts'
import { type EchoResult, measureEcho } from './echo.ts'

/** One line of the table that says whether a promise is kept. */
export interface Bar {
  readonly what: string
  readonly measured: string
  readonly bar: string
  readonly kept: boolean
}

export interface Options {
  readonly rounds?: number
  readonly seconds?: number
}

/**
 * The proxy beside nginx, HAProxy and Caddy, in one run: the same upstreams, the same load, in alternating rounds, so that what
 * else the machine does hits all of them. Writes `bench/results/proxy.md`.
 */
export async function run({ rounds = 7, seconds = 2 }: Options = {}): Promise<readonly Bar[]> {
  requirePrograms(['nginx', 'caddy', 'haproxy', 'wrk'])
  const home = mkdtempSync(join(tmpdir(), 'stackquay-bench-'))
  // nginx, started by root, reads the large file as somebody else.
  chmodSync(home, 0o755)
  const load = loadavg()[0]!
  const running: Contestant[] = []
  const start = async (contestant: Promise<Contestant>) => {
    running.push(await contestant)
    return running.at(-1)!
  }
  try {
    const behind = { page: (await start(startPage(home))).port, echo: (await start(startEcho())).port }
    const ours = await start(stackquay(home, behind))
    const contestants = [
      ours,
      await start(caddy(home, behind)),
      await start(nginx(home, behind)),
      await start(haproxy(home, behind)),
    ]
    const homeOfAll = join(home, 'all')
    mkdirSync(homeOfAll)
    const onAllCores = [
      await start(stackquay(homeOfAll, behind, allCores)),
      // It has them already.
      contestants.find(({ name }) => name === 'Caddy')!,
      await start(nginx(homeOfAll, behind, allCores)),
      await start(haproxy(homeOfAll, behind, allCores)),
    ]
    const idle = residentMegabytes(ours.pid)
    const resultsOfAll = new Map(onAllCores.map(({ name }) => [name, { http: [], large: [], echo: [] } as Measured]))
    const results = new Map(contestants.map(({ name }) => [name, { http: [], large: [], echo: [] } as Measured]))
    for (let round = 0; round <= rounds; round += 1) {
      for (const contestant of contestants) {
        const http = measureHttp(contestant.port, '/', round === 0 ? 2 : seconds)
        const large = measureHttp(contestant.port, '/large', round === 0 ? 1 : seconds)
        const echo = await measureEcho(contestant.port, round === 0 ? 1 : seconds)
        // The first round only warms up.
        if (round > 0) results.get(contestant.name)!.http.push(http)
        if (round > 0) results.get(contestant.name)!.large.push(large)
        if (round > 0) results.get(contestant.name)!.echo.push(echo)
      }
      for (const contestant of onAllCores) {
        const http = measureHttp(contestant.port, '/', round === 0 ? 2 : seconds)
        const large = measureHttp(contestant.port, '/large', round === 0 ? 1 : seconds)
        if (round > 0) resultsOfAll.get(contestant.name)!.http.push(http)
        if (round > 0) resultsOfAll.get(contestant.name)!.large.push(large)
      }
    }
    const loaded = residentMegabytes(ours.pid)
    const bars = barsOf(results, resultsOfAll, idle)
    const report = reportOf(results, resultsOfAll, bars, { rounds, seconds, loaded, load })
    process.stdout.write(`${report}\n`)
    writeFileSync(join(import.meta.dirname, '..', 'results', 'proxy.md'), report)
    return bars
  } finally {
    for (const contestant of running.reverse()) await contestant.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

interface HttpResult {
  readonly perSecond: number
  readonly p99: string
}

interface Measured {
  readonly http: HttpResult[]
  readonly large: HttpResult[]
  readonly echo: EchoResult[]
}

function measureHttp(port: number, path: string, seconds: number): HttpResult {
  const url = `http://127.0.0.1:${port}${path}`
  const { stdout } = spawnSync(
    'wrk',
    ['-t1', '-c32', `-d${seconds}s`, '--latency', '-H', 'Host: page.localhost', url],
    {
      encoding: 'utf8',
    },
  )
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`Requests failed on port ${port}:\n${stdout}`)
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p99: /99%\s+(\S+)/.exec(stdout)?.[1] ?? '?',
  }
}

/**
 * Compared round by round: two neighbours in time saw the same machine, two medians of a whole run may not have. Like with
 * like: nginx has one worker, Caddy takes all cores.
 */
function barsOf(
  results: ReadonlyMap<string, Measured>,
  resultsOfAll: ReadonlyMap<string, Measured>,
  idle: number,
): Bar[] {
  const ratio = (over: Measured, under: Measured, read: (measured: Measured) => readonly number[]) => {
    const below = read(under)
    return median(read(over).map((value, round) => value / below[round]!))
  }
  const http = ({ http }: Measured) => http.map(({ perSecond }) => perSecond)
  const large = ({ large }: Measured) => large.map(({ perSecond }) => perSecond)
  const echo = ({ echo }: Measured) => echo.map(({ perSecond }) => perSecond)
  const trip = ({ echo }: Measured) => echo.map((result) => result.median)
  const ours = results.get('Stackquay')!
  const nginx = results.get('nginx')!
  const oursOnAll = resultsOfAll.get('Stackquay')!
  const caddy = resultsOfAll.get('Caddy')!
  return [
    atLeast('1 KB answers on all cores, against Caddy', ratio(oursOnAll, caddy, http), 1.25),
    atLeast('1 KB answers, against nginx', ratio(ours, nginx, http), 0.4),
    atLeast('1 MB answers on all cores, against Caddy', ratio(oursOnAll, caddy, large), 0.75),
    atLeast('WebSocket echo, messages, against nginx', ratio(ours, nginx, echo), 0.8),
    atLeast('WebSocket echo, round trips, against nginx', ratio(nginx, ours, trip), 0.8),
    { what: 'Idle memory, 50 routes', measured: `${idle} MB`, bar: '≤ 90 MB', kept: idle <= 90 },
  ]
}

export function atLeast(what: string, ratio: number, bar: number): Bar {
  return { what, measured: `${ratio.toFixed(2)} ×`, bar: `≥ ${bar} ×`, kept: ratio >= bar }
}

function reportOf(
  results: ReadonlyMap<string, Measured>,
  resultsOfAll: ReadonlyMap<string, Measured>,
  bars: readonly Bar[],
  { rounds, seconds, loaded, load }: { rounds: number; seconds: number; loaded: number; load: number },
): string {
  const httpCells = ({ http, large }: Measured) => [
    thousands(median(http.map(({ perSecond }) => perSecond))),
    http.map(({ p99 }) => p99).sort()[http.length >> 1]!,
    `${Math.round(median(large.map(({ perSecond }) => perSecond)))} MB`,
  ]
  const rowsOfAll = [...resultsOfAll].map(([name, measured]) => [name, ...httpCells(measured)])
  const rows = [...results].map(([name, { http, large, echo }]) => [
    name,
    ...httpCells({ http, large, echo }),
    thousands(median(echo.map(({ perSecond }) => perSecond))),
    `${median(echo.map((result) => result.median)).toFixed(3)} ms`,
    `${median(echo.map(({ p99 }) => p99)).toFixed(3)} ms`,
  ])
  return `# Proxy

Medians of ${rounds} alternating rounds of ${seconds} s; promises compare round by round. One worker each (Caddy: all cores), upstreams and load on the same
machine: ratios say more than numbers. HTTP: answers of 1 KB and 1 MB from nginx, \`wrk -t1 -c32\`. WebSocket: 128 byte messages, 16 connections with 16
messages under way; round trips with one message on one connection.

${table([['', 'requests/s', 'p99', '1 MB, per s', 'echoes/s', 'round trip', 'p99'], ...rows])}
All cores (${allCores.count} workers of Stackquay and nginx, ${allCores.count} threads of HAProxy), measured in the same rounds; upstream and load take part of them:

${table([['', 'requests/s', 'p99', '1 MB, per s'], ...rowsOfAll])}
${table([['Promise', 'measured', 'bar', ''], ...bars.map((bar) => [bar.what, bar.measured, bar.bar, bar.kept ? 'kept' : 'MISSED'])])}
Stackquay's memory after all rounds: ${loaded} MB.

${machine()} Load before the run: ${load.toFixed(1)}.${busy(load)}
`
}

export function table([head = [], ...rows]: string[][]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  return line(head) + line(head.map(() => '---')) + rows.map(line).join('')
}

function machine(): string {
  const nginxVersion = spawnSync('nginx', ['-v'], { encoding: 'utf8' }).stderr.trim().replace('nginx version: ', '')
  const haproxyVersion = /version (\S+?)[-~ ]/.exec(execFileSync('haproxy', ['-v'], { encoding: 'utf8' }))?.[1]
  const caddyVersion = execFileSync('caddy', ['version'], { encoding: 'utf8' }).trim().split(' ')[0]
  const memory = /MemTotal:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]
  return `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(Number(memory) / 1048576)} GB, Linux ${release()}, Node ${process.versions.node}, ${nginxVersion}, HAProxy ${haproxyVersion}, Caddy ${caddyVersion}.`
}

export function busy(load: number): string {
  return load > cpus().length / 2 ? ' The machine was busy with other things: these ratios say little.' : ''
}

function residentMegabytes(pid: number): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024)
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!
}

export function thousands(value: number): string {
  return `${(value / 1000).toFixed(1)} k`
}

export function requirePrograms(names: readonly string[]): void {
  const missing = names.filter((name) => spawnSync('which', [name]).status !== 0)
  if (missing.length === 0) return
  throw new Error(
    `Missing: ${missing.join(', ')}. Install with: apt-get install -y --no-install-recommends ${missing.join(' ')}`,
  )
}

if (import.meta.main) {
  const rounds = Number(process.argv[2] ?? 7)
  const bars = await run({ rounds })
  process.exitCode = bars.every(({ kept }) => kept) ? 0 : 1
}
