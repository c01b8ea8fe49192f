import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { databaseTypes, serviceTypes } from '@stackquay/catalog'
import { apiPrefix, type Operation, operationList } from '@stackquay/contract'
import { createFakeEngine, type FakeEngine } from '@stackquay/engine-api/fake-engine'
import { sweep } from '@stackquay/testkit'
import type { InjectOptions } from 'fastify'
import { pino } from 'pino'
import { type App, createApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'

export const admin = { username: 'ada', password: 'correct horse battery' }

export interface TestApp {
  readonly app: App
  readonly engine: FakeEngine
  readonly home: string
  /** Everything that the service wrote to its log. */
  log(): string
  /** Headers of a new browser session. */
  session(username?: string, password?: string): Promise<Record<string, string>>
  call(id: string, options?: CallOptions): Promise<Called>
}

export interface CallOptions {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Called {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
  readonly json: any
}

interface TestAppOptions {
  readonly env?: Record<string, string>
  readonly setUp?: boolean
  readonly images?: boolean
  /** One that was there before, and stays. */
  readonly home?: string
}

/** The whole service over an engine in memory: the real HTTP app, store and handlers, in a home of its own. */
export async function openTestApp(
  t: Pick<TestContext, 'after'>,
  { env = {}, setUp = true, images = false, home: given }: TestAppOptions = {},
): Promise<TestApp> {
  const home = given ?? (await mkdtemp(join(tmpdir(), 'stackquay-app-')))
  const engine = createFakeEngine({ images })
  for (const [name, version, program] of toolchains) {
    const directory = '/fake/bin'
    const found = {
      name,
      version,
      program: `${directory}/${program}`,
      directory,
      available: true,
      reason: null,
      bundled: true,
    }
    engine.toolchainsFound = [...engine.toolchainsFound, found]
  }
  let written = ''
  const app = await createApp({
    config: readConfig({
      STACKQUAY_HOME: home,
      STACKQUAY_LISTEN: '127.0.0.1:1',
      STACKQUAY_PROXY_HTTP: 'off',
      STACKQUAY_SSH: 'off',
      // Somebody without rights, so that no user is made on the machine of the tests.
      STACKQUAY_RUN_AS: '65534:65534',
      ...(setUp ? { STACKQUAY_ADMIN_USER: admin.username, STACKQUAY_ADMIN_PASSWORD: admin.password } : {}),
      ...env,
    }),
    log: pino({ level: 'trace' }, { write: (line: string) => (written += line) }),
    say: (text) => (written += text),
    engine,
    restart: () => undefined,
  })
  t.after(async () => {
    await app.close()
    if (given !== undefined) return
    await sweep(home)
    await rm(home, { recursive: true, force: true })
  })
  await app.ready
  const call = async (
    id: string,
    { params = {}, query = {}, body, headers = {} }: CallOptions = {},
  ): Promise<Called> => {
    const { method, path } = operationOf(id)
    const answer = await app.http.inject({
      method,
      url: apiPrefix + path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? 'x')),
      query: { ...query },
      headers: { host: 'localhost', ...headers },
      ...(body === undefined ? {} : { payload: body as NonNullable<InjectOptions['payload']> }),
    })
    const isJson = /json(;|$)/.test(String(answer.headers['content-type']))
    return {
      status: answer.statusCode,
      body: answer.body,
      headers: answer.headers,
      json: isJson ? answer.json() : null,
    }
  }
  return {
    app,
    engine,
    home,
    log: () => written,
    call,
    session: async (username = admin.username, password = admin.password) => {
      const { headers, json, body } = await call('login', { body: { username, password } })
      if (json?.csrfToken === undefined) throw new Error(`No session: ${body}`)
      return { cookie: String(headers['set-cookie']).split(';')[0]!, 'x-csrf-token': json.csrfToken }
    },
  }
}

const toolchains: readonly (readonly [name: string, version: string, program: string])[] = [
  ['node', '26.10.0', 'node'],
  ['npm', '12.0.0', 'npm'],
  ['python', '3.13.2', 'python3'],
  ...[...databaseTypes, ...serviceTypes].flatMap(({ toolchain, releases }) =>
    toolchain === null ? [] : [[toolchain.name, `${releases[0]?.version}.0`, toolchain.programs[0] ?? ''] as const],
  ),
]

export function operationOf(id: string): Operation {
  const found = operationList.find((operation) => operation.id === id)
  if (found === undefined) throw new Error(`There is no operation "${id}".`)
  return found
}
