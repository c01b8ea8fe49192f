import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createProxyControl, ensureProxy } from '@stackquay/proxy/control'
import {
  allCores,
  type Contestant,
  type Cores,
  contestant,
  freePort,
  oneCore,
  startNginx,
  startPage,
  whenListening,
} from './contestants.ts'
import { atLeast, type Bar, busy, median, type Options, requirePrograms, table, thousands } from './run.ts'

/**
 * The proxy beside nginx and Caddy over TLS, in one run: HTTP/1.1 by `wrk`, HTTP/2 by `h2load`, in alternating rounds. Writes
 * `bench/results/https.md`.
 */
export async function run({ rounds = 5, seconds = 2 }: Options = {}): Promise<readonly Bar[]> {
  requirePrograms(['nginx', 'caddy', 'wrk', 'h2load', 'openssl'])
  const home = mkdtempSync(join(tmpdir(), 'stackquay-bench-'))
  // nginx, started by root, reads the large file as somebody else.
  chmodSync(home, 0o755)
  const load = loadavg()[0]!
  const running: Contestant[] = []
  const start = async (one: Promise<Contestant>) => {
    running.push(await one)
    return running.at(-1)!
  }
  try {
    const pair = makePair(home)
    const page = (await start(startPage(home))).port
    const all = join(home, 'all')
    mkdirSync(all)
    const caddy = await start(secureCaddy(home, page, pair))
    const contestants = new Map([
      ['Stackquay', await start(secureStackquay(home, page, pair, oneCore))],
      ['nginx', await start(secureNginx(home, page, pair, oneCore))],
      [`Stackquay, ${allCores.count} processes`, await start(secureStackquay(all, page, pair, allCores))],
      ['Caddy', caddy],
      [`nginx, ${allCores.count} processes`, await start(secureNginx(all, page, pair, allCores))],
    ])
    const results = new Map([...contestants.keys()].map((name) => [name, emptyResults()]))
    for (let round = 0; round <= rounds; round += 1)
      for (const [name, { port }] of contestants)
        for (const [kind, measure] of Object.entries(measures)) {
          const perSecond = measure(port, round === 0 ? 1 : seconds)
          // The first round only warms up.
          if (round > 0) results.get(name)![kind as Kind].push(perSecond)
        }
    const bars = barsOf(results)
    const report = reportOf(results, bars, { rounds, seconds, load })
    process.stdout.write(`${report}\n`)
    writeFileSync(join(import.meta.dirname, '..', 'results', 'https.md'), report)
    return bars
  } finally {
    for (const one of running.reverse()) await one.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

type Kind = 'http1' | 'http1Large' | 'http2' | 'http2Large'
type Results = Record<Kind, number[]>

function emptyResults(): Results {
  return { http1: [], http1Large: [], http2: [], http2Large: [] }
}

const measures: Readonly<Record<Kind, (port: number, seconds: number) => number>> = {
  http1: (port, seconds) => byWrk(port, '/', seconds),
  http1Large: (port, seconds) => byWrk(port, '/large', seconds),
  http2: (port, seconds) => byH2load(port, '/', seconds, ['-c8', '-m16']),
  http2Large: (port, seconds) => byH2load(port, '/large', seconds, ['-c8', '-m4']),
}

/** `localhost` is the name in the handshake, because wrk takes it from the address. */
function byWrk(port: number, path: string, seconds: number): number {
  const args = ['-t1', '-c32', `-d${seconds}s`, `https://localhost:${port}${path}`]
  const { stdout } = spawnSync('wrk', args, { encoding: 'utf8' })
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`Requests failed on port ${port}:\n${stdout}`)
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
}

function byH2load(port: number, path: string, seconds: number, streams: readonly string[]): number {
  const to = ['--connect-to', `127.0.0.1:${port}`, `https://localhost${path}`]
  const { stdout } = spawnSync('h2load', ['-t1', ...streams, '-D', String(seconds), ...to], { encoding: 'utf8' })
  const [, failed, errored] = /(\d+) failed, (\d+) errored/.exec(stdout) ?? []
  if (Number(failed) + Number(errored) !== 0 || !/Application protocol: h2/.test(stdout))
    throw new Error(`Requests failed on port ${port}:\n${stdout}`)
  return Number(/finished in [\d.]+m?s, ([\d.]+) req\/s/.exec(stdout)?.[1])
}

interface Pair {
  readonly certificate: string
  readonly key: string
}

/** Files, which other users may read: nginx does. */
function makePair(home: string): Pair {
  const pair = { certificate: join(home, 'cert.pem'), key: join(home, 'key.pem') }
  const subject = ['-days', '30', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const key = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-keyout',
    pair.key,
    '-out',
    pair.certificate,
  ]
  execFileSync('openssl', ['req', '-x509', '-nodes', ...key, ...subject], { stdio: 'ignore' })
  chmodSync(pair.key, 0o644)
  return pair
}

async function secureStackquay(home: string, page: number, pair: Pair, cores: Cores): Promise<Contestant> {
  const folder = join(home, 'stackquay')
  mkdirSync(folder)
  await ensureProxy({ home: folder, listen: '127.0.0.1:0', listenHttps: '127.0.0.1:0', workers: cores.count })
  const control = createProxyControl(folder)
  const project = { id: 'page', slug: 'page', name: 'page' }
  const target = { kind: 'upstream', host: '127.0.0.1', port: page } as const
  await control.putRoutes({ version: 1, generation: 1, routes: [{ hosts: ['localhost'], project, target }] })
  const [certificate, key] = [readFileSync(pair.certificate, 'utf8'), readFileSync(pair.key, 'utf8')]
  const one = { id: 'page', names: ['localhost'], certificate, key, redirect: false, hstsSeconds: null }
  const status = await control.setCertificates({ generation: 1, certificates: [one], http01: [], tlsAlpn01: [] })
  return { name: 'Stackquay', port: status.httpsAddress!.port, pid: status.pid, stop: () => control.shutdown() }
}

async function secureNginx(home: string, page: number, { certificate, key }: Pair, cores: Cores): Promise<Contestant> {
  const port = await freePort()
  const servers = `
    upstream page { server 127.0.0.1:${page}; keepalive 64; }
    server {
      listen 127.0.0.1:${port} ssl http2; server_name localhost;
      ssl_certificate ${certificate}; ssl_certificate_key ${key}; ssl_protocols TLSv1.2 TLSv1.3;
      ssl_session_cache shared:tls:10m;
      location / {
        proxy_pass http://page; proxy_http_version 1.1; proxy_set_header Connection '';
        proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $http_host;
      }
    }`
  return startNginx('nginx', home, port, servers, cores)
}

async function secureCaddy(home: string, page: number, { certificate, key }: Pair): Promise<Contestant> {
  const port = await freePort()
  const file = join(home, 'Caddyfile')
  const site = `https://localhost:${port} {\n  bind 127.0.0.1\n  tls ${certificate} ${key}\n  reverse_proxy 127.0.0.1:${page}\n}\n`
  writeFileSync(file, `{\n  admin off\n  auto_https off\n}\n${site}`)
  const env = { ...process.env, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home }
  const child = spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], { stdio: 'ignore', env })
  return whenListening(contestant('Caddy', port, child))
}

/** Round by round, like with like: Caddy takes all cores, nginx is compared on one. */
function barsOf(results: ReadonlyMap<string, Results>): readonly Bar[] {
  const [ours, nginx, oursOnAll, caddy] = [...results.values()] as [Results, Results, Results, Results]
  const ratio = (over: Results, under: Results, kind: Kind) =>
    median(over[kind].map((value, round) => value / under[kind][round]!))
  return (Object.keys(measures) as Kind[]).flatMap((kind) => [
    atLeast(`${words[kind]} on all cores, against Caddy`, ratio(oursOnAll, caddy, kind), 1),
    atLeast(`${words[kind]}, against nginx`, ratio(ours, nginx, kind), 0.35),
  ])
}

const words: Readonly<Record<Kind, string>> = {
  http1: 'HTTP/1.1, 1 KB',
  http1Large: 'HTTP/1.1, 1 MB',
  http2: 'HTTP/2, 1 KB',
  http2Large: 'HTTP/2, 1 MB',
}

function reportOf(
  results: ReadonlyMap<string, Results>,
  bars: readonly Bar[],
  { rounds, seconds, load }: { readonly rounds: number; readonly seconds: number; readonly load: number },
): string {
  const rows = [...results].map(([name, { http1, http1Large, http2, http2Large }]) => [
    name,
    thousands(median(http1)),
    `${Math.round(median(http1Large))}`,
    thousands(median(http2)),
    `${Math.round(median(http2Large))}`,
  ])
  const promises = bars.map(({ what, measured, bar, kept }) => [what, measured, bar, kept ? 'kept' : 'MISSED'])
  return `# HTTPS

Medians of ${rounds} alternating rounds of ${seconds} s; promises compare round by round. Requests per second of answers of 1 KB and 1 MB from nginx over TLS 1.3
with an ECDSA certificate: HTTP/1.1 by \`wrk -t1 -c32\`, HTTP/2 by \`h2load -t1 -c8 -m16\` (1 MB: \`-m4\`). Caddy takes all cores. Upstream and load take
part of the same cores.

${table([['', 'HTTP/1.1, 1 KB', '1 MB', 'HTTP/2, 1 KB', '1 MB'], ...rows])}
${table([['Promise', 'measured', 'bar', ''], ...promises])}
${cpus().length} cores (${cpus()[0]?.model.trim()}), Linux ${release()}, Node ${process.versions.node}. Load before the run: ${load.toFixed(1)}.${busy(load)}
`
}

if (import.meta.main) {
  const bars = await run({ rounds: Number(process.argv[2] ?? 5) })
  process.exitCode = bars.every(({ kept }) => kept) ? 0 : 1
}
