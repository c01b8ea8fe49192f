import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Client, createClient } from '@stackquay/client'
import { portOwnerOf } from '@stackquay/server/ports/held-ports'
import { freePort, isAlive, sweep } from '@stackquay/testkit'
import { alive } from './alive.ts'
import { reservePorts } from './ports.ts'
import { serviceProgramOf } from './service-program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export const admin = { username: 'ada', password: 'correct-horse-battery' } as const

/** A real service in a process of its own, with a home, ports and a proxy that nobody else uses. */
export interface Service {
  readonly home: string
  readonly url: string
  readonly proxyPort: number
  /** An administrator's token. */
  readonly token: string
  readonly client: Client
  /** The process of the control plane that runs now. */
  pid(): number
  /** Ends the control plane the hard way; the proxy and the projects go on. */
  kill(): Promise<void>
  /** Starts it again on the same home and addresses, and waits until it answers. */
  start(): Promise<void>
  stop(): Promise<void>
  /** What it has written to its terminal so far. */
  output(): string
  /** A new token, for everything or for certain projects. */
  newToken(scope: 'read' | 'operate' | 'admin', projects?: readonly string[]): Promise<string>
  /** A request through the proxy, to a project's host. */
  get(
    slug: string,
    path?: string,
    options?: { method?: string; body?: string; headers?: Record<string, string> },
  ): Promise<Answer>
  /** Ends everything: projects, proxy, control plane; removes the home. */
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: string
}

export interface ServiceOptions {
  /** Another checkout whose service it is; this one unless told. */
  readonly checkout?: string
  /** Read anew at each start. */
  readonly env?: Readonly<Record<string, string>>
  /** argv of a program that starts the service by replacing itself, asked for at each start. */
  readonly through?: () => readonly string[]
  /** The folder that the home is made in. */
  readonly below?: string
  /** Where from existing folders may be taken as projects. */
  readonly roots?: string
}

/**
 * The versions of this machine's programs, which every new home would learn again by starting each of them. A version is remembered
 * for a file of one size and time of change, so that a home which is given it still learns of what is new.
 */
const learntVersions = fileURLToPath(new URL('../../node_modules/.cache/e2e-toolchains.json', import.meta.url))
const versionsOf = (home: string) => join(home, 'toolchains', 'cache.json')

async function giveVersions(home: string): Promise<void> {
  await mkdir(dirname(versionsOf(home)), { mode: 0o755 })
  await copyFile(learntVersions, versionsOf(home)).catch(() => undefined)
}

async function keepVersions(home: string): Promise<void> {
  const draft = `${learntVersions}.${process.pid}`
  await copyFile(versionsOf(home), draft)
    .then(() => rename(draft, learntVersions))
    .catch(() => undefined)
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { checkout = root } = options
  const main = await serviceProgramOf(checkout)
  const home = await mkdtemp(join(options.below ?? tmpdir(), 'stackquay-e2e-'))
  await giveVersions(home)
  const ports = await reservePorts()
  const [port, proxyPort] = [ports.from + 98, ports.from + 99]
  const url = `http://127.0.0.1:${port}`
  let child: ChildProcess | null = null
  let output = ''

  const start = async () => {
    const [program = '', ...args] = [...(options.through?.() ?? []), process.execPath, main]
    const started = spawn(program, args, {
      env: {
        ...process.env,
        // For tests; the service refuses settings that it does not know.
        STACKQUAY_SOAK: undefined,
        STACKQUAY_HOME: home,
        STACKQUAY_LISTEN: `127.0.0.1:${port}`,
        STACKQUAY_PROXY_HTTP: `127.0.0.1:${proxyPort}`,
        // Tests of TLS say where it answers.
        STACKQUAY_PROXY_HTTPS: 'off',
        // Tests of SSH say where it answers.
        STACKQUAY_SSH: 'off',
        STACKQUAY_PORT_RANGE: `${ports.from}-${ports.from + 97}`,
        STACKQUAY_ADMIN_USER: admin.username,
        STACKQUAY_ADMIN_PASSWORD: admin.password,
        STACKQUAY_LOG_LEVEL: 'warn',
        // Whatever the machine has: tests of another engine say so.
        STACKQUAY_ENGINE: 'native',
        // As root; tests of the other levels say so.
        STACKQUAY_ISOLATION: process.getuid?.() === 0 ? 'user' : 'auto',
        NODE_COMPILE_CACHE: join(checkout, 'node_modules/.cache/compile'),
        ...(options.roots === undefined ? {} : { STACKQUAY_ALLOWED_ROOTS: options.roots }),
        ...options.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [started.stdout!, started.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    child = started
    await until(
      async () => {
        if (started.exitCode !== null) throw new Error(`the service ended: ${output}`)
        return (await fetch(`${url}/api/v1/health`).catch(() => null))?.ok === true
      },
      'the service to answer',
      60_000,
    )
  }
  const end = async (signal: NodeJS.Signals) => {
    const running = child
    if (running === null || running.exitCode !== null || running.signalCode !== null) return
    const ended = once(running, 'exit')
    running.kill(signal)
    await ended
  }

  try {
    await start()
  } catch (error) {
    await end('SIGKILL')
    await endProxy(home)
    endPortOwner(home)
    await sweep(home)
    await rm(home, { recursive: true, force: true })
    await ports.release()
    throw error
  }
  const token = await newToken(url, 'admin')
  const client = createClient({ baseUrl: url, token, clientName: 'cli' })

  return {
    home,
    url,
    proxyPort,
    token,
    client,
    pid: () => child!.pid!,
    kill: () => end('SIGKILL'),
    start,
    stop: () => end('SIGTERM'),
    output: () => output,
    newToken: (scope, projects = []) => newToken(url, scope, projects),
    get: (slug, path = '/', more = {}) => throughProxy(proxyPort, `${slug}.localhost`, path, more),
    close: async () => {
      try {
        if (child === null || child.exitCode !== null || child.signalCode !== null) await start()
        await deleteAll(client)
      } finally {
        await end('SIGTERM').catch(() => end('SIGKILL'))
        await endProxy(home)
        endPortOwner(home)
        await sweep(home)
        await keepVersions(home)
        await rm(home, { recursive: true, force: true })
        await ports.release()
      }
    },
  }
}

/** Stops and deletes every project with its data, whatever holds it. */
async function deleteAll(client: Client): Promise<void> {
  const { items } = await client.call('listProjects', { query: { limit: 200 } })
  for (const { slug, operation } of items) {
    if (operation !== null)
      await client.call('cancelOperation', { params: { op: operation.id }, query: { wait: 30 } }).catch(() => undefined)
    const remove = (query: object) =>
      client.call('deleteProject', {
        params: { id: slug },
        query: { confirm: slug, data: 'delete', wait: 60, ...query },
      })
    // An older service, which one is compared with, knows no trash.
    await remove({ purge: true })
      .catch(() => remove({}))
      .catch(() => undefined)
  }
}

export async function newToken(url: string, scope: string, projects: readonly string[] = []): Promise<string> {
  const login = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(admin),
  })
  const cookie = login.headers.get('set-cookie')!.split(';')[0]!
  const { csrfToken } = (await login.json()) as { csrfToken: string }
  const made = await fetch(`${url}/api/v1/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie, 'x-csrf-token': csrfToken },
    body: JSON.stringify({ name: scope === 'admin' ? 'e2e' : `e2e ${randomUUID()}`, scope, projects }),
  })
  return ((await made.json()) as { value: string }).value
}

async function endProxy(home: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  request({ socketPath: join(home, 'proxy', 'proxy.sock'), method: 'POST', path: '/shutdown' }, (answer) => {
    answer.resume().on('end', resolve)
  })
    .on('error', () => resolve())
    .end()
  await promise
  const known = await readFile(join(home, 'proxy', 'proxy.json'), 'utf8').catch(() => null)
  if (known === null) return
  const { pid } = JSON.parse(known) as { pid: number }
  const isGone = async () => !(await isAlive(pid))
  await until(isGone, 'the proxy to end', 5_000).catch(() => {
    process.kill(pid, 'SIGKILL')
    return until(isGone, 'the killed proxy to be gone')
  })
}

/** It would end by itself, some seconds after its home. */
export function endPortOwner(home: string): void {
  const owner = portOwnerOf(home)
  if (owner !== null) process.kill(-owner.pid, 'SIGKILL')
}

export function throughProxy(
  port: number,
  host: string,
  path: string,
  { method = 'GET', body, headers = {} }: { method?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  request(
    {
      host: '127.0.0.1',
      port,
      path,
      method,
      agent: false,
      headers: { host: `${host}:${port}`, accept: 'text/html', ...headers },
    },
    (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      )
    },
  )
    .on('error', reject)
    .end(body)
  return promise
}

export { alive, freePort }

/** Waits for something to become true; says what it waited for when it does not. */
export async function until(check: () => Promise<boolean>, what: string, withinMs = 30_000): Promise<void> {
  const deadline = Date.now() + withinMs
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`waited ${withinMs} ms for ${what}`)
    await delay(25)
  }
}
