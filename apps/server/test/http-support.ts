import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { apiPrefix, type Operation, operationList, type Scope } from '@stackquay/contract'
import { emptySpec } from '@stackquay/domain'
import { newId, openStore, type Store, type UserRow } from '@stackquay/store'
import type { FastifyInstance } from 'fastify'
import { createAuthenticator } from '../src/access/authenticator.ts'
import { enrolmentRule } from '../src/access/factors/enrolment.ts'
import { type FactorSettings, usualFactorSettings } from '../src/access/factors/parts.ts'
import { createFirstAdmin } from '../src/access/first-admin.ts'
import { accessHandlers } from '../src/access/handlers.ts'
import { hashPassword } from '../src/access/passwords.ts'
import { createSessionCookie, newSessionSecret } from '../src/access/session-cookie.ts'
import { hashOf, newTokenValue, shownPrefix } from '../src/access/token-value.ts'
import { auditHandlers } from '../src/audit/handlers.ts'
import { createHttpApp, type HttpAppDeps, type HttpAppSettings } from '../src/http/app.ts'
import type { Authenticator } from '../src/http/authenticator.ts'
import { createDeniedLog } from '../src/http/denied-log.ts'
import type { Handlers, RequestContext, StreamHandlers } from '../src/http/handler.ts'
import { keyPlace } from '../src/sealing-key.ts'

export const password = 'correct horse battery'
export const setupCode = 'CODE-1234'
export const testCookie = createSessionCookie('test')

export interface TestHttpApp {
  readonly app: FastifyInstance
  readonly store: Store
  /** The database’s file. */
  readonly database: string
  readonly authenticator: Authenticator
  /** Errors that the HTTP app wrote to its log. */
  readonly errors: object[]
  readonly clock: { time: number }
  /** How long answers to log-ins were held back, in milliseconds; here they are not. */
  readonly waits: number[]
  /** What the calls of operations that these tests do not implement were handed. */
  readonly calls: { id: string; input: unknown; context: RequestContext }[]
  user(
    role: Scope | null,
    name?: string,
    rights?: Partial<Pick<UserRow, 'projects' | 'projectRoles'>>,
  ): Promise<{ id: string; username: string }>
  token(options?: {
    scope?: Scope
    projects?: readonly string[]
    owner?: string
    expiresAt?: string | null
    name?: string
  }): Promise<{ id: string; value: string }>
  project(slug: string): Promise<{ id: string }>
  /** Logs in over HTTP. */
  session(username: string): Promise<{ cookie: string; csrfToken: string; headers: Record<string, string> }>
  /** A session that was not made over HTTP, for apps that answer a login otherwise. */
  openSession(user: string): Promise<{ cookie: string; 'x-csrf-token': string }>
  /** Listens on a port of the system's choice and answers the address. */
  listen(): Promise<string>
}

/** The HTTP app over a real store. Operations of projects are answered by echoes; access and audit are the real ones. */
export async function openTestHttpApp(
  t: Pick<TestContext, 'after'>,
  options: {
    handlers?: Partial<Record<keyof Handlers, unknown>>
    streams?: Partial<Record<keyof StreamHandlers, unknown>>
    settings?: Partial<HttpAppSettings>
    webFolder?: string
    admin?: false
    config?: FactorSettings
  } = {},
): Promise<TestHttpApp> {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-http-'))
  const clock = { time: Date.now() }
  const now = () => clock.time
  const keys = keyPlace(folder, null)
  const store = await openStore({
    file: join(folder, 'state.db'),
    ...keys.candidates,
    checkpointFile: join(folder, 'audit.checkpoint'),
    clock: { now: () => new Date(clock.time) },
  })
  const errors: object[] = []
  const log = {
    info() {},
    warn: (details: object) => errors.push(details),
    error: (details: object) => errors.push(details),
  }
  const { config = usualFactorSettings } = options
  const mustEnrol = enrolmentRule(store, config)
  const authenticator = createAuthenticator({ store, cookie: testCookie, log, now, mustEnrol })
  const calls: TestHttpApp['calls'] = []
  const denied = createDeniedLog({ store, log })
  const waits: number[] = []
  const echoes = Object.fromEntries(
    operationList
      .filter(({ id, stream }) => stream === undefined && id !== 'getOpenapi')
      .map(({ id }) => [
        id,
        async (input: unknown, context: RequestContext) => {
          calls.push({ id, input, context })
          return { status: 200, body: { did: id } }
        },
      ]),
  )
  const streams = Object.fromEntries(
    operationList
      .filter(({ id, stream }) => stream === 'websocket' && id !== 'watchEvents')
      .map(({ id }) => [id, async () => {}]),
  ) as unknown as HttpAppDeps['streams']
  const app = createHttpApp({
    handlers: {
      ...echoes,
      ...accessHandlers({
        store,
        setupCode: () => setupCode,
        keys,
        cookie: testCookie,
        denied,
        config,
        publicUrl: () => 'http://127.0.0.1:8700',
        now,
        wait: async (ms) => waits.push(ms),
      }),
      ...auditHandlers({ store, now }),
      ...options.handlers,
    } as unknown as Handlers,
    streams: { ...streams, ...options.streams } as HttpAppDeps['streams'],
    store,
    settings: { version: '0.0.0-test', listenHost: '127.0.0.1', ...options.settings },
    authenticator,
    denied,
    webFolder: options.webFolder ?? null,
    log,
    now,
  })
  t.after(async () => {
    await app.close()
    await store.close()
    await rm(folder, { recursive: true })
  })
  if (options.admin !== false) await createFirstAdmin(store, { username: 'ada', password })

  return {
    app,
    store,
    database: join(folder, 'state.db'),
    authenticator,
    errors,
    clock,
    waits,
    calls,
    async user(role, name = `user-${role}`, rights = {}) {
      const passwordHash = await hashPassword(password)
      return store.transaction((tx) =>
        tx.users.insert({ id: newId('usr'), username: name, role, passwordHash, ...rights }),
      )
    },
    async token({ scope = 'admin', projects = [], owner, expiresAt = null, name = newId('name') } = {}) {
      const value = newTokenValue()
      const holder = owner ?? (await store.users.byName('ada'))!.id
      const token = {
        id: newId('tok'),
        hash: hashOf(value),
        prefix: shownPrefix(value),
        name,
        owner: holder,
        scope,
        projects,
        expiresAt,
      }
      await store.transaction((tx) => tx.tokens.insert(token))
      return { id: token.id, value }
    },
    async project(slug) {
      const id = newId('prj')
      const project = {
        id,
        slug,
        spec: emptySpec(slug),
        desired: 'stopped',
        phase: 'ready',
        path: `/srv/${slug}`,
        source: null,
        engine: 'native',
      } as const
      await store.transaction((tx) => tx.projects.insert(project))
      return { id }
    },
    async session(username) {
      const answer = await app.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username, password } })
      if (answer.statusCode !== 200) throw new Error(`No session: ${answer.body}`)
      const cookie = String(answer.headers['set-cookie']).split(';')[0]!
      const { csrfToken } = answer.json<{ csrfToken: string }>()
      return { cookie, csrfToken, headers: { cookie, 'x-csrf-token': csrfToken } }
    },
    async openSession(user) {
      const secret = newSessionSecret()
      const key = newSessionSecret()
      const expiresAt = new Date(clock.time + 3_600_000).toISOString()
      const session = {
        id: newId('ses'),
        cookieHash: hashOf(secret),
        keyHash: hashOf(key),
        user,
        ip: null,
        userAgent: null,
        expiresAt,
      }
      await store.transaction((tx) => tx.sessions.insert(session))
      return { cookie: testCookie.line(secret).split(';')[0]!, 'x-csrf-token': key }
    },
    listen: () => app.listen({ host: '127.0.0.1', port: 0 }),
  }
}

export const bearer = (value: string) => ({ authorization: `Bearer ${value}` })

/** A path of an operation with its parameters filled in. */
export function urlOf({ path }: Operation, params: Readonly<Record<string, string>> = {}): string {
  return apiPrefix + path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? 'x')
}

/** Entries newest first; waits for those that are written beside the answer. */
export async function auditOf(store: Store, outcome: 'success' | 'denied', atLeast: number) {
  for (let turn = 0; turn < 100; turn++) {
    const entries = await store.audit.list({ limit: 100, outcome })
    if (entries.length >= atLeast) return entries
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return store.audit.list({ limit: 100, outcome })
}

/** The same path with a new ticket of the session in it; both are below `/api/v1`. */
export async function ticketed(http: TestHttpApp, headers: Record<string, string>, path: string): Promise<string> {
  const answer = await http.app.inject({
    method: 'POST',
    url: '/api/v1/auth/tickets',
    headers,
    payload: { path: `/api/v1${path}` },
  })
  if (answer.statusCode !== 201) throw new Error(`No ticket: ${answer.body}`)
  return `${path}${path.includes('?') ? '&' : '?'}ticket=${answer.json<{ ticket: string }>().ticket}`
}
