import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { databaseTypes, runtimeTypes, serviceTypes } from '@stackquay/catalog'
import type { OperationRecord, Plan, Problem, ProjectView, Scope } from '@stackquay/contract'
import { createFakeEngine, type FakeEngine } from '@stackquay/engine-api/fake-engine'
import { newId, type Store } from '@stackquay/store'
import { pino } from 'pino'
import { hashOf, newTokenValue, shownPrefix } from '../src/access/token-value.ts'
import { type App, createApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'

export interface Answer<T> {
  readonly status: number
  readonly body: T
  readonly headers: Readonly<Record<string, unknown>>
}

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
export type Ask = <T = ProjectView & { code?: string }>(
  method: Method,
  path: string,
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer<T>>

export interface TestApp {
  readonly app: App
  readonly store: Store
  readonly engine: FakeEngine
  readonly folder: string
  /** Calls as an administrator's token; JSON in, and out what is JSON, else the text. */
  readonly ask: Ask
  as(scope: Scope, projects?: readonly string[]): Promise<Ask>
  /** What the service wrote to its log as an error. */
  readonly errors: readonly string[]
  /** Ends this app and opens another over the same home and machine. */
  reopen(over?: { readonly without?: readonly string[]; readonly now?: () => Date }): Promise<TestApp>
}

export type PlanAnswer = Plan
export type OperationAnswer = OperationRecord
export type ProblemAnswer = Problem

const toolchain = (name: string, version: string) => ({
  name,
  version,
  program: `/opt/${name}/bin/${name}`,
  directory: `/opt/${name}/bin`,
  available: true,
  reason: null,
  bundled: false,
})

/** Of every kind the newest two lines, newest first, with the programs that runtimes call beside their own. */
const toolchainsHere = [
  ...[...runtimeTypes, ...databaseTypes, ...serviceTypes].flatMap(({ toolchain: query, releases }) =>
    query === null ? [] : releases.slice(0, 2).map((release) => toolchain(query.name, `${release.version}.1`)),
  ),
  ...runtimeTypes.flatMap(({ helpers }) => helpers.map(({ name }) => toolchain(name, '12.0.0'))),
]

/** The whole app over a temporary home and a fake engine, whose machine has whatever the catalogue can use. */
export async function openTestApp(
  t: Pick<TestContext, 'after'>,
  over: {
    readonly folder?: string
    readonly engine?: FakeEngine
    /** Its engine runs images too. */
    readonly images?: boolean
    /** Programs that the machine has not, by the names of their toolchains. */
    readonly without?: readonly string[]
    readonly now?: () => Date
    /** How often it looks who is to sleep or wake. */
    readonly sleepLookMs?: number
    /** What the app asks for when it is to be opened again. */
    readonly restart?: () => void
    /** Settings beside those of every test. */
    readonly env?: Readonly<Record<string, string>>
  } = {},
): Promise<TestApp> {
  const folder = over.folder ?? (await mkdtemp(join(tmpdir(), 'stackquay-projects-')))
  const engine = createFakeEngine({
    ...(over.engine === undefined ? {} : { machine: over.engine.machine }),
    ...(over.images === undefined ? {} : { images: over.images }),
  })
  engine.toolchainsFound = toolchainsHere.filter(({ name }) => over.without?.includes(name) !== true)
  const errors: string[] = []
  const log = pino(
    { level: 'error' },
    {
      write: (line: string) => {
        errors.push(line)
      },
    },
  )
  const config = readConfig({
    STACKQUAY_HOME: folder,
    STACKQUAY_LISTEN: '127.0.0.1:0',
    STACKQUAY_PROXY_HTTP: 'off',
    STACKQUAY_SSH: 'off',
    STACKQUAY_ADMIN_USER: 'ada',
    STACKQUAY_ADMIN_PASSWORD: 'correct horse battery',
    // Somebody without rights, so that no user is made on the machine of the tests.
    STACKQUAY_RUN_AS: '65534:65534',
    ...over.env,
  })
  const app = await createApp({
    config,
    log,
    say: () => undefined,
    engine,
    ...(over.now === undefined ? {} : { now: over.now }),
    ...(over.restart === undefined ? {} : { restart: over.restart }),
    ...(over.sleepLookMs === undefined ? {} : { sleepLookMs: over.sleepLookMs }),
  })
  let isOpen = true
  const close = async () => {
    if (!isOpen) return
    isOpen = false
    await app.close()
  }
  let hasSuccessor = false
  t.after(async () => {
    await close()
    // Whoever came after lives in the folder, and takes it down at its own end.
    if (!hasSuccessor) await rm(folder, { recursive: true, force: true })
  })
  await app.ready

  const as = async (scope: Scope, projects: readonly string[] = []): Promise<Ask> => {
    const value = newTokenValue()
    const owner = (await app.store.users.byName('ada'))!.id
    await app.store.transaction((tx) =>
      tx.tokens.insert({
        id: newId('tok'),
        hash: hashOf(value),
        prefix: shownPrefix(value),
        name: newId('name'),
        owner,
        scope,
        projects,
        expiresAt: null,
      }),
    )
    return async <T>(method: Method, path: string, body?: object, headers?: Readonly<Record<string, string>>) => {
      const answer = await app.http.inject({
        method,
        url: `/api/v1${path}`,
        headers: { authorization: `Bearer ${value}`, ...headers },
        ...(body === undefined ? {} : { payload: body }),
      })
      const isJson = /[/+]json(;|$)/.test(String(answer.headers['content-type']))
      const content = isJson ? answer.json() : answer.body
      return { status: answer.statusCode, body: content as T, headers: answer.headers }
    }
  }

  return {
    app,
    store: app.store,
    engine,
    folder,
    ask: await as('admin'),
    as,
    errors,
    reopen: async (more = {}) => {
      hasSuccessor = true
      await close()
      const kept = {
        images: engine.capabilities.images,
        ...(over.sleepLookMs === undefined ? {} : { sleepLookMs: over.sleepLookMs }),
      }
      return openTestApp(t, { folder, engine, ...kept, ...more })
    },
  }
}
