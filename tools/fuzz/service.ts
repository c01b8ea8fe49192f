import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createFakeEngine } from '@stackquay/engine-api/fake-engine'
import { sweep } from '@stackquay/testkit/machine-state'
import { pino } from 'pino'
import { createApp } from '../../apps/server/src/app.ts'
import { readConfig } from '../../apps/server/src/config.ts'
import type { Account, Counts } from './account.ts'

// The whole service for a fuzzer, in a process of its own: real HTTP app, real store and real handlers, over an engine in memory
// and in a home of its own, so that whatever a random request creates harms nobody. Says its account as the first line; each
// line that it is sent it answers with what it has counted since; it ends when its input does.

const home = mkdtempSync(join(tmpdir(), 'stackquay-fuzz-'))
process.once('exit', () => rmSync(home, { recursive: true, force: true }))
keepGitHere()

const admin = { username: 'ada', password: 'correct horse battery staple' }
const port = await freePort()
const config = readConfig({
  STACKQUAY_HOME: home,
  STACKQUAY_LISTEN: `127.0.0.1:${port}`,
  STACKQUAY_PROXY_HTTP: 'off',
  STACKQUAY_SSH: 'off',
  STACKQUAY_ALLOWED_ROOTS: join(home, 'projects'),
  STACKQUAY_ADMIN_USER: admin.username,
  STACKQUAY_ADMIN_PASSWORD: admin.password,
})
const engine = createFakeEngine()
// Without programs nothing could be run, and most of the service would only say so.
engine.toolchainsFound = Object.entries({ node: '26.10.0', python: '3.13.2', go: '1.25.1', postgresql: '18.0' }).map(
  ([name, version]) => ({
    name,
    version,
    program: `/fake/bin/${name}`,
    directory: '/fake/bin',
    available: true,
    reason: null,
    bundled: true,
  }),
)
const app = await createApp({
  config,
  log: pino({ level: 'warn' }, pino.destination(2)),
  say: () => undefined,
  engine,
})
let counts: Counts = { requests: 0, succeeded: 0, failures: [] }
app.http.addHook('onResponse', async (request, reply) => {
  const failures =
    reply.statusCode >= 500
      ? [`${reply.statusCode} ${request.method} ${request.url} ${reply.getHeader('x-request-id')}`]
      : []
  counts = {
    requests: counts.requests + 1,
    succeeded: counts.succeeded + (reply.statusCode < 300 ? 1 : 0),
    failures: [...counts.failures, ...failures].slice(-50),
  }
})
const url = await app.http.listen({ host: config.listen.host, port })
await app.ready
console.log(JSON.stringify(await makeAccount()))
for await (const _ of createInterface(process.stdin)) {
  console.log(JSON.stringify(counts))
  counts = { requests: 0, succeeded: 0, failures: [] }
}
await app.close()
// Users, walls and control groups of its projects are the machine's, and outlive a service.
await sweep(home)
process.exit(0)

/** Everybody the fuzzer plays, and a project each for those who are restricted to one. */
async function makeAccount(): Promise<Account> {
  const call = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return { headers: answer.headers, body: (await answer.json()) as Record<string, string> }
  }
  const login = await call('/auth/login', admin)
  const session = {
    cookie: login.headers.get('set-cookie')!.split(';')[0]!,
    'x-csrf-token': login.body.csrfToken!,
  }
  const project = (await call('/projects?wait=30', { name: 'fuzz' }, session)).body.id!
  const token = async (name: string, projects: readonly string[]) =>
    (await call('/tokens', { name, scope: 'admin', projects }, session)).body.value!
  return { url, project, session, admin: await token('admin', []), restricted: await token('restricted', [project]) }
}

/** Nothing random may leave this machine: git speaks HTTP alone, and through a proxy at which nobody answers. */
function keepGitHere(): void {
  const folder = join(home, 'bin')
  mkdirSync(folder)
  const nowhere = 'http://127.0.0.1:9'
  const settings = `GIT_ALLOW_PROTOCOL=http:https http_proxy=${nowhere} https_proxy=${nowhere} ALL_PROXY=${nowhere} no_proxy=`
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  writeFileSync(join(folder, 'git'), `#!/bin/sh\n${settings} exec ${real} "$@"\n`, { mode: 0o755 })
  process.env.PATH = `${folder}:${process.env.PATH}`
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: free } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return free
}
