import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { planProject } from '@stackquay/domain'
import type { Engine, SecretRef } from '@stackquay/engine-api'
import { createNativeEngine, networkEnvironment } from '@stackquay/engines'
import { createOrchestrator, type Orchestrator } from '@stackquay/orchestrator'
import { openStore, type Store } from '@stackquay/store'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { createAuthenticator } from './access/authenticator.ts'
import { createFirstAdmin } from './access/first-admin.ts'
import { accessHandlers } from './access/handlers.ts'
import { auditHandlers } from './audit/handlers.ts'
import { bundledPrograms } from './bundled.ts'
import type { Config } from './config.ts'
import { createDoor } from './http/door.ts'
import type { Handlers, StreamHandlers } from './http/handler.ts'
import { lockHome } from './instance-lock.ts'
import { workloadAccount } from './projects/account.ts'
import { createAnswers } from './projects/answers.ts'
import { createCatalogue } from './projects/catalogue.ts'
import { queueOperation, submit } from './projects/change-project.ts'
import { databaseHandlers } from './projects/database-handlers.ts'
import { projectHandlers } from './projects/handlers.ts'
import { createJournal } from './projects/journal.ts'
import { logHandlers } from './projects/log-handlers.ts'
import { mailHandlers } from './projects/mail-handlers.ts'
import { manifestHandlers } from './projects/manifest-handlers.ts'
import { createModel, type Model } from './projects/model.ts'
import { createOurPrograms } from './projects/our-programs.ts'
import { createResolver } from './projects/resolver.ts'
import { createRoutes, type Routes } from './projects/routes.ts'
import { serviceHandlers } from './projects/service-handlers.ts'
import { createSources } from './projects/sources.ts'
import { statsHandlers } from './projects/stats-handlers.ts'
import { createWorks } from './projects/works.ts'
import { createProxyKeeper, type ProxyKeeper } from './proxy-keeper.ts'
import { keyPlace } from './sealing-key.ts'
import { type SetupCode, setupCode } from './setup-code.ts'
import { fileSystemOf } from './system/file-system.ts'
import { systemHandlers } from './system/handlers.ts'
import { tidyRegularly } from './tidy.ts'
import { version } from './version.ts'

/** Cannot be started as things are; the message says why and what to do. */
export class BootError extends Error {
  override readonly name = 'BootError'
}

export interface House {
  readonly app: FastifyInstance
  readonly store: Store
  readonly setup: SetupCode
  /** Ends when projects were found and unfinished operations go on. */
  readonly ready: Promise<void>
  /** Ends what runs here. Projects and the proxy go on. */
  close(): Promise<void>
}

export interface HouseOptions {
  readonly config: Config
  readonly log: Logger
  /** Words for the person at the terminal. */
  say(text: string): void
  readonly now?: () => Date
  /** For tests of the house itself: another engine in place of this machine's. */
  readonly engine?: Engine
}

/** The composition root: the one place that picks store, clock and engine, and puts the rooms together. */
export async function openHouse({
  config,
  log,
  say,
  now = () => new Date(),
  engine: given,
}: HouseOptions): Promise<House> {
  await openHome(config.home)
  const unlock = await lockHome(join(config.home, 'server.sock'), config.home)
  const account = await workloadAccount(config.runAs, say)
  await mkdir(config.projectsDir, { recursive: true, mode: 0o711 })

  const keys = keyPlace(config.home, config.secretKey)
  const store = await openStore({
    file: join(config.home, 'stackquay.db'),
    ...keys.candidates,
    checkpointFile: join(config.home, 'audit.checkpoint'),
    clock: { now },
    report: (error) => log.error({ err: error }, 'the store could not do something that nobody waits for'),
  })
  keys.settle(store.sealing.keyId())
  const engine =
    given ??
    (await createNativeEngine({
      home: config.home,
      runAs: account,
      bundled: bundledPrograms(),
      network: networkEnvironment(process.env),
    }))
  const life = new AbortController()
  const onError = (error: unknown, what: string) => log.error({ err: error }, what)

  const catalogue = createCatalogue(engine, life.signal, process.execPath)
  const resolver = createResolver({ config, store, catalogue, programs: createOurPrograms(config.home) })
  const sources = createSources(config, account, networkEnvironment(process.env))
  const reveal = async (ref: SecretRef) => (await store.secrets.reveal(ref.secret)).expose()
  const keeper: ProxyKeeper | null =
    config.proxy === null
      ? null
      : createProxyKeeper({ home: join(config.home, 'proxy'), listen: addressText(config.proxy), onError })

  let orchestrator: Orchestrator
  let routes: Routes
  const model: Model = createModel({
    store,
    resolver,
    engine: engine.id,
    orchestrator: () => orchestrator,
    publish: () => routes.publish(),
    onError,
    now,
  })
  routes = createRoutes({
    model: () => model,
    resolver,
    engine,
    config,
    put: async (table) => keeper?.put(table),
    onError,
  })
  const journal = createJournal({ store, model: () => model, now, onError })
  const work = createWorks({
    store,
    model,
    resolver,
    catalogue,
    engine,
    sources,
    config,
    account,
    reveal,
    orchestrator: () => orchestrator,
  })
  orchestrator = createOrchestrator({
    engine,
    reveal,
    journal,
    work,
    wanted: model.wanted,
    onChange: model.touched,
    onError,
    now,
  })

  const setup = setupCode(config.home, (await store.users.count()) === 0)
  if (config.admin !== null && setup.value() !== null) {
    await createFirstAdmin(store, config.admin)
    setup.used()
  }

  const wake = async () => {
    await model.load()
    // Before the first look, so that nothing that ends between the two goes unseen.
    orchestrator.watch()
    for (const known of model.all()) await orchestrator.observations.refresh(known.row.id)
    await takeUp({ store, model, orchestrator, engine })
    for (const known of model.all()) model.touched(known.row.id)
    await routes.publish()
  }
  let awake = false
  const ready = wake().then(() => {
    awake = true
  })
  ready.catch((error: unknown) => onError(error, 'finding the projects'))

  const stopTidying = tidyRegularly(store, now, onError)

  const authenticator = createAuthenticator({ store, log })
  const changing = { store, model, resolver, catalogue, engine, orchestrator: () => orchestrator }
  const answers = createAnswers(changing)
  const projects = afterwards(ready, {
    ...projectHandlers({ ...changing, sources }, answers),
    ...manifestHandlers(changing, answers),
    ...databaseHandlers({ store, model, engine, reveal }, answers),
    ...serviceHandlers({ store, model, resolver, engine, reveal }, answers),
    ...mailHandlers({ store, engine, reveal }, answers),
    ...pick(logHandlers({ store, engine, model }), ['getProjectLogs']),
    ...pick(statsHandlers({ store, engine }), ['getProjectStats']),
  })
  const access = accessHandlers({ store, setupCode: setup.value, keys })
  const handlers: Handlers = {
    ...projects,
    ...access,
    completeSetup: async (input, context) => {
      const reply = await access.completeSetup(input, context)
      setup.used()
      return reply
    },
    ...auditHandlers({ store }),
    ...systemHandlers({
      config,
      engine,
      catalogue,
      store,
      proxy: () => keeper?.control() ?? null,
      version,
      now,
      startedAt: now().getTime() - process.uptime() * 1000,
      ready: () => awake,
    }),
  }
  const streams: Omit<StreamHandlers, 'watchEvents'> = {
    watchProjectLogs: logHandlers({ store, engine, model }).watchProjectLogs,
    watchProjectStats: statsHandlers({ store, engine }).watchProjectStats,
  }
  const app = createDoor({
    handlers,
    streams,
    store,
    settings: { version, listenHost: config.listen.host, baseUrl: config.publicUrl },
    authenticator,
    webFolder: builtPage(),
    log,
  })

  return {
    app,
    store,
    setup,
    ready,
    close: async () => {
      stopTidying()
      keeper?.close()
      // Whatever fails on the way, the store is closed and the home let go.
      try {
        await app.close()
        await orchestrator.close()
        await journal.flush()
        await model.settled()
        life.abort()
        await engine.close()
      } finally {
        await store.close()
        await unlock()
      }
    },
  }
}

/** Goes on with operations that a crash interrupted, and starts or stops what is not as it should be. */
async function takeUp({
  store,
  model,
  orchestrator,
  engine,
}: {
  store: Store
  model: Model
  orchestrator: Orchestrator
  engine: Engine
}): Promise<void> {
  const deps = { model, orchestrator: () => orchestrator }
  const unfinished = await store.operations.unfinished()
  for (const operation of unfinished) submit(operation, deps)
  const held = new Set(unfinished.map((operation) => operation.project))
  for (const { row, resolved } of model.all()) {
    if (held.has(row.id) || row.phase !== 'ready') continue
    // What stands in the way of one workload is no reason to leave the others down.
    const { workloads: wanted, unresolved } = resolved
    const observed = orchestrator.observations.of(row.id)
    const { changes } = planProject({ wanted, unresolved, observed, goal: row.desired, keepChanged: true })
    if (changes.length === 0) continue
    const operation = await store.transaction((tx) =>
      queueOperation(tx, 'reconcile', row.id, { actor: 'system', requestId: '' }, {}),
    )
    submit(operation, deps)
  }
  await endOrphans(model, engine)
}

/** Ends processes of projects that are gone: a deletion that was cut off. Their data is left alone. */
async function endOrphans(model: Model, engine: Engine): Promise<void> {
  const signal = AbortSignal.timeout(60_000)
  for (const id of await engine.projects(signal)) {
    if (model.find(id) !== null) continue
    const observed = await engine.observe(id, signal)
    const { changes } = planProject({ wanted: [], observed, goal: 'stopped' })
    for (const step of changes.flatMap((change) => engine.plan(change))) {
      await engine.apply(step, { signal, output: () => undefined, reveal: async () => '' })
    }
  }
}

async function openHome(home: string): Promise<void> {
  try {
    // Others may pass through to what is theirs, and list nothing: the user of workloads reaches its projects this way.
    mkdirSync(home, { recursive: true, mode: 0o711 })
    if (process.getuid?.() === 0) await chmod(home, 0o711)
    readdirSync(home)
  } catch (error) {
    throw new BootError(
      `The home ${home} cannot be used: ${(error as Error).message}. Set STACKQUAY_HOME to a folder that is yours.`,
    )
  }
  const { name, network } = await fileSystemOf(home)
  if (network) {
    throw new BootError(
      `The home ${home} lies on ${name}, a network file system, where databases lose data. Set STACKQUAY_HOME to a folder on a local disk.`,
    )
  }
}

function builtPage(): string | null {
  const folder = fileURLToPath(new URL('../../web/dist', import.meta.url))
  return existsSync(join(folder, 'index.html')) ? folder : null
}

function addressText({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Handlers that need to know the projects wait until those were found. */
function afterwards<H extends Record<string, (...args: never[]) => Promise<unknown>>>(
  ready: Promise<void>,
  handlers: H,
): H {
  let done = false
  ready.then(
    () => {
      done = true
    },
    () => undefined,
  )
  const wrapped = Object.entries(handlers).map(([id, handler]) => [
    id,
    (...args: never[]) => (done ? handler(...args) : ready.then(() => handler(...args))),
  ])
  return Object.fromEntries(wrapped) as H
}

function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, K>
}
