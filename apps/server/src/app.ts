import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Engine, SecretRef } from '@stackquay/engine-api'
import { createUserFiles, networkEnvironment } from '@stackquay/engines'
import { createOrchestrator } from '@stackquay/orchestrator'
import { openStore, type Store } from '@stackquay/store'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { createAuthenticator } from './access/authenticator.ts'
import { createFirstAdmin } from './access/first-admin.ts'
import { accessHandlers } from './access/handlers.ts'
import { createSessionCookie } from './access/session-cookie.ts'
import { endSessionsOfOtherOrigin, instanceId } from './access/session-origin.ts'
import { domainHandlers } from './addresses/domain-handlers.ts'
import { rulesHandlers } from './addresses/rules-handlers.ts'
import { trafficHandlers } from './addresses/traffic-handlers.ts'
import { afterwards } from './afterwards.ts'
import { auditHandlers } from './audit/handlers.ts'
import { allBackupHandlers } from './backups/handlers.ts'
import { openBackups } from './backups/open-backups.ts'
import { createCatalogue } from './catalogue/catalogue.ts'
import { createContainerFacts } from './catalogue/container-facts.ts'
import { createOurPrograms } from './catalogue/our-programs.ts'
import type { Config } from './config.ts'
import { engineKind } from './engine-kinds.ts'
import { openEngines } from './engines.ts'
import { compiledFolder, openHome, openProjectsFolder } from './home.ts'
import { createHttpApp } from './http/app.ts'
import { createDeniedLog } from './http/denied-log.ts'
import type { Handlers, StreamHandlers } from './http/handler.ts'
import { lockHome } from './instance-lock.ts'
import { openIsolation } from './isolation/isolation.ts'
import { createLeaving } from './isolation/leaving.ts'
import { createProvision } from './isolation/provision.ts'
import { retireLeft } from './isolation/retire-left.ts'
import { logHandlers } from './logs/log-handlers.ts'
import { mailHandlers } from './mail/mail-handlers.ts'
import { createNetwork } from './network/network.ts'
import { createOperationHandlers } from './operations/index.ts'
import { addressText } from './ports/held-addresses.ts'
import type { PortsKeeper } from './ports/held-ports.ts'
import type { InheritedSockets } from './ports/inherited-sockets.ts'
import { createAnswers } from './projects/answers.ts'
import { databaseHandlers } from './projects/database-handlers.ts'
import { envHandlers } from './projects/env-handlers.ts'
import { createFilesOf } from './projects/files-of.ts'
import { projectHandlers } from './projects/handlers/index.ts'
import { imageHandlers } from './projects/image-handlers.ts'
import { createImageRecords } from './projects/images.ts'
import { manifestHandlers } from './projects/manifest-handlers.ts'
import { openProjects } from './projects/open-projects.ts'
import { createPortWallsKeeper } from './projects/port-walls-keeper.ts'
import { provisionProject } from './projects/prepare.ts'
import { createResolver } from './projects/resolver.ts'
import { createRestartHolds } from './projects/restart-holds.ts'
import { serviceHandlers } from './projects/service-handlers.ts'
import { createSources } from './projects/sources.ts'
import { statsHandlers } from './projects/stats-handlers.ts'
import { createProxyKeeper, type ProxyKeeper } from './proxy-keeper.ts'
import { endLeftData, endOrphans, sweepLeftFolders } from './resume/leftovers.ts'
import { holdInterrupted, reconcile, resumeOperations } from './resume/operations.ts'
import { runHandlers, runStreams } from './runs/handlers.ts'
import { createResultsFolders } from './runs/results-folder.ts'
import { createRuns } from './runs/runs.ts'
import { createTestEnvironments } from './runs/test-environments.ts'
import { keyPlace } from './sealing-key.ts'
import { type SetupCode, setupCode } from './setup-code.ts'
import { shareHandlers } from './shares/share-handlers.ts'
import { createShares } from './shares/shares.ts'
import { systemHandlers } from './system/handlers.ts'
import { terminalHandlers, terminalStreams } from './terminals/handlers.ts'
import { createTerminals } from './terminals/terminals.ts'
import { tidyRegularly } from './tidy.ts'
import { version } from './version.ts'
import { createDispatcher } from './webhooks/dispatcher.ts'
import { webhookHandlers } from './webhooks/handlers.ts'
import { createWorkers } from './workers/workers.ts'

export interface App {
  readonly http: FastifyInstance
  readonly store: Store
  readonly setup: SetupCode
  /** Ends when projects were found and unfinished operations go on. */
  readonly ready: Promise<void>
  /** Ends what runs here. Projects and the proxy go on. */
  close(): Promise<void>
}

export interface AppOptions {
  readonly config: Config
  readonly log: Logger
  /** Words for the person at the terminal. */
  say(text: string): void
  readonly now?: () => Date
  /** For tests of the app itself: another engine in place of this machine's. */
  readonly engine?: Engine
  /** Sockets that were opened for the service by whoever started it. */
  readonly sockets?: InheritedSockets
  /** Who keeps the ports of page and proxy; closed with the app. */
  readonly ports?: PortsKeeper
}

/** The composition root: the one place that picks store, clock and engine, and puts the parts together. */
export async function createApp({
  config,
  log,
  say,
  now = () => new Date(),
  engine: given,
  sockets = {},
  ports,
}: AppOptions): Promise<App> {
  await openHome(config.home)
  const unlock = await lockHome(join(config.home, 'server.sock'), config.home)
  await openProjectsFolder(config.projectsDir, config.home)

  const keys = keyPlace(config.home, config.secretKey)
  const store = await openStore({
    file: join(config.home, 'stackquay.db'),
    ...keys.candidates,
    checkpointFile: join(config.home, 'audit.checkpoint'),
    clock: { now },
    report: (error) => log.error({ err: error }, 'the store could not do something that nobody waits for'),
  })
  keys.settle(store.sealing.keyId())
  const isolation = await openIsolation(
    { store, config, onError: (error) => log.error({ err: error }, 'walls around ports') },
    say,
  )
  const { accounts } = isolation
  const { engines: engine, usual, named } = await openEngines({ store, config, isolation }, given)
  if (engineKind(usual).capabilities.images)
    say('New projects run in containers; STACKQUAY_ENGINE=native lets them run on this machine.')
  const life = new AbortController()
  const onError = (error: unknown, what: string) => log.error({ err: error }, what)

  const files = createUserFiles({ compiled: await compiledFolder(config.home) })
  const filesOf = createFilesOf(accounts, files)
  const workers = createWorkers()
  const catalogue = createCatalogue({ engine, usual, signal: life.signal, fallbackNode: process.execPath })
  const images = createImageRecords({ store, onError })
  const containerFacts = createContainerFacts({
    home: config.home,
    accounts,
    imageOf: config.imageOf,
    node: catalogue.ourNode,
  })
  const resolver = createResolver({
    config,
    store,
    catalogue,
    programs: createOurPrograms(config.home),
    filesOf,
    containers: async ({ id, engine: name }) =>
      engineKind(name).capabilities.images ? containerFacts(id, await images.pinned(id)) : null,
  })
  const sources = createSources({ config, accounts, files, network: networkEnvironment(process.env) })
  const provision = createProvision({ isolation, store, engine, config, report: (text) => log.info(text) })
  const reveal = async (ref: SecretRef) => (await store.secrets.reveal(ref.secret, ref.version)).expose()
  const testEnvironments = createTestEnvironments({ store, resolver, engine, config, reveal })
  const portWalls =
    isolation.walls === null
      ? null
      : createPortWallsKeeper({ store, accounts, walls: isolation.walls, runPorts: testEnvironments.ports, onError })
  if (portWalls !== null) isolation.beforeStarts(portWalls.ready)
  const keeper: ProxyKeeper | null =
    config.proxy === null
      ? null
      : createProxyKeeper({ home: config.home, listen: addressText(config.proxy), socket: sockets.proxy, onError })

  const stopForgetting = store.onCommit((events) => {
    for (const { type, project } of events) {
      if (type !== 'project.deleted' || project === null) continue
      resolver.forget(project).catch((error: unknown) => onError(error, 'forgetting a source'))
      // What cannot be forgotten now is swept by the proxy when no table has had the project for a day.
      void keeper
        ?.control()
        ?.forgetAccess(project)
        .catch(() => undefined)
    }
  })
  const network = createNetwork(store)
  const core = openProjects({ store, resolver, engine, named, config, network, keeper, now, onError })
  const { queues, observations, watches, routes, model, progressLog } = core
  const runs = createRuns({
    store,
    engine,
    resolver,
    accounts,
    files,
    testEnvironments,
    workers,
    results: createResultsFolders(config.home, files),
    maxMinutes: config.runMaxMinutes,
    reveal,
    provision: (project, signal) => provisionProject(project, { store, model, engine, config, provision }, signal),
    exclusively: queues.enter,
    now,
    onError,
  })
  const terminals = createTerminals({
    store,
    engine,
    resolver,
    filesOf,
    idleHours: config.terminalIdleHours,
    reveal,
    now,
    onError,
  })
  /** A change of the network is answered when the proxy has it; one that does not answer gets it later. */
  const published = async (...projects: readonly string[]) => {
    const enough = sleep(publishMs, undefined, { ref: false, signal: life.signal }).catch(() => undefined)
    await Promise.race([routes.publish(projects), enough])
  }
  const environment = { path: process.env.PATH ?? '', ssh: config.shareSsh }
  const shares = createShares({
    store,
    engine,
    model,
    resolver,
    network,
    config,
    environment,
    published,
    now,
    onError,
  })
  const restartHolds = createRestartHolds({
    routes,
    engine,
    published: () => published(),
    flights: async (host, port) => (keeper === null ? { requests: 0 } : keeper.flights(host, port)),
    look: observations.current,
    now,
  })
  const backups = await openBackups({ home: config.home, store, onError })
  const { release, retire } = createLeaving({ isolation, files, config, onError })
  const changing = { store, model, resolver, catalogue, engine, engines: { usual, named }, workers, observations }
  const work = createOperationHandlers({
    ...changing,
    sources,
    config,
    accounts,
    provision,
    release,
    retire,
    filesOf,
    reveal,
    carries: progressLog.carries,
    runs,
    terminals,
    restartHolds,
    queues,
    watches,
    backups,
    network,
    testEnvironments,
  })
  const orchestrator = createOrchestrator({
    engine,
    queues,
    observations,
    watches,
    life: core.life,
    reveal,
    progressLog,
    work,
    wanted: model.wanted,
    projects: () => model.all().map(({ row }) => row.id),
    onError,
    now,
  })
  const resuming = { store, model, observations, orchestrator }
  orchestrator.onReachable(async () => {
    if (core.isLookedAt()) await reconcile(resuming)
  })

  const ended = await endSessionsOfOtherOrigin(store, `${config.publicUrl} at ${addressText(config.listen)}`)
  if (ended > 0) say(`The address of the service is another than before, so all browser sessions ended (${ended}).`)

  const setup = setupCode(config.home, (await store.users.count()) === 0)
  if (config.admin !== null && setup.value() !== null) {
    await createFirstAdmin(store, config.admin)
    setup.used()
  }

  observations.onChange((project) => images.observed(project, observations.of(project)))
  /** One whose engine does not answer shows that; it is looked at again when it does. */
  const lookAt = (project: string) =>
    observations.refresh(project).catch((error: unknown) => {
      if (observations.unknown(project) === null) throw error
    })
  const wake = async () => {
    await portWalls?.renew().catch((error: unknown) => onError(error, 'walls around ports'))
    await Promise.all([model.load(), network.load()])
    // Before the first look, so that nothing that ends between the two goes unseen.
    orchestrator.watch()
    for (const known of model.all()) await lookAt(known.row.id)
    await holdInterrupted({ ...resuming, restartHolds })
    core.lookedAt()
    // Now, not after all that is taken up: what was deleted while nobody looked would still have an address.
    void routes.publishAll()
    await resumeOperations(resuming)
    await endOrphans(model, engine.all)
    await retireLeft(isolation.users, store).catch((error: unknown) => onError(error, 'taking users away'))
    await endLeftData({ store, testEnvironments, onError })
    // From here on it is known which ports the runs have that go on.
    await portWalls?.renew().catch((error: unknown) => onError(error, 'walls around ports'))
    await runs.resume()
    await terminals.resume()
    await shares.resume()
    for (const known of model.all()) model.touched(known.row.id)
    await routes.publishAll()
  }
  let awake = false
  let sweeping: Promise<void> = Promise.resolve()
  const ready = wake().then(() => {
    awake = true
    // Beside everything else: no program that fills what is being removed keeps the service from its work.
    sweeping = sweepLeftFolders({ home: config.home, model, sources, signal: life.signal, onError })
  })
  ready.catch((error: unknown) => onError(error, 'finding the projects'))

  const stopTidying = tidyRegularly(store, now, onError)
  const dispatcher = createDispatcher({ store, now, onError })
  await dispatcher.start()

  const cookie = createSessionCookie(await instanceId(store))
  const authenticator = createAuthenticator({ store, cookie, log })
  const denied = createDeniedLog({ store, log })
  const changeDeps = { ...changing, orchestrator }
  const answers = createAnswers(changeDeps)
  const logs = logHandlers({ store, engine, model, workers })
  const projects = afterwards(ready, {
    ...projectHandlers({ ...changeDeps, sources, filesOf, isolation }, answers),
    ...envHandlers(changeDeps, answers),
    ...manifestHandlers(changeDeps, answers),
    ...databaseHandlers({ store, engine, reveal }, answers),
    ...serviceHandlers({ store, resolver, engine, reveal }, answers),
    ...mailHandlers({ store, engine, workers, reveal }, answers),
    ...imageHandlers(changeDeps, answers),
    ...pick(logs, ['getProjectLogs', 'downloadLogs']),
    ...pick(statsHandlers({ store, engine, accounts }), ['getProjectStats']),
    ...domainHandlers({ store, model, resolver, network, baseDomain: config.baseDomain, published }),
    ...rulesHandlers({ store, model, resolver, network, published }),
    ...shareHandlers({ store, model, shares, environment, proxy: () => keeper?.control() ?? null }),
    ...trafficHandlers({ store, proxy: () => (keeper === null ? 'off' : keeper.control()) }),
    ...runHandlers({ store, engine, resolver, runs }),
    ...terminalHandlers({ store, engine, resolver, filesOf, reveal, terminals }),
    ...allBackupHandlers({ ...changeDeps, backups, sources, network, config }, answers),
  })
  const access = accessHandlers({
    store,
    setupCode: setup.value,
    keys,
    cookie,
    denied,
    keyReplaced: backups.keys.renew,
  })
  const handlers: Handlers = {
    ...projects,
    ...access,
    completeSetup: async (input, context) => {
      const reply = await access.completeSetup(input, context)
      setup.used()
      return reply
    },
    ...auditHandlers({ store }),
    ...webhookHandlers({ store, dispatcher, now }),
    ...systemHandlers({
      config,
      engine,
      catalogue,
      store,
      proxy: () => keeper?.control() ?? null,
      proxyFault: () => keeper?.fault() ?? null,
      ports: ports ?? null,
      sockets,
      isolation,
      version,
      now,
      startedAt: now().getTime() - process.uptime() * 1000,
      ready: () => awake,
    }),
  }
  const streams: Omit<StreamHandlers, 'watchEvents'> = {
    watchProjectLogs: logs.watchProjectLogs,
    watchProjectStats: statsHandlers({ store, engine, accounts }).watchProjectStats,
    ...runStreams({ store, engine, resolver, runs, ready, denied }),
    ...terminalStreams({ store, engine, resolver, filesOf, reveal, terminals }),
  }
  const http = createHttpApp({
    handlers,
    streams,
    store,
    settings: {
      version,
      listenHost: config.listen.host,
      baseUrl: config.publicUrl,
      trustedProxies: config.trustedProxies,
    },
    authenticator,
    denied,
    webFolder: builtPage(),
    log,
  })

  return {
    http,
    store,
    setup,
    ready,
    close: async () => {
      stopTidying()
      stopForgetting()
      keeper?.close()
      ports?.close()
      // Whatever fails on the way, the store is closed and the home let go.
      try {
        await http.close()
        await terminals.close()
        await shares.close()
        await dispatcher.close()
        await runs.close()
        await orchestrator.close()
        await workers.close()
        await progressLog.flush()
        await model.settled()
        await images.settled()
        life.abort()
        await portWalls?.close()
        await files.close()
        await sweeping
        await engine.close()
      } finally {
        await store.close()
        await unlock()
      }
    },
  }
}

/** How long a change of the network waits for the proxy. */
const publishMs = 5_000

function builtPage(): string | null {
  const folder = fileURLToPath(new URL('../../web/dist', import.meta.url))
  return existsSync(join(folder, 'index.html')) ? folder : null
}

function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, K>
}
