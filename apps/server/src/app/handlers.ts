import type { ProxyControl } from '@stackquay/proxy/control'
import { addonHandlers } from '../addons/handlers.ts'
import { projectAddonHandlers } from '../addons/project-handlers.ts'
import { domainHandlers } from '../addresses/domain-handlers.ts'
import { renameHandler } from '../addresses/rename-handler.ts'
import { rulesHandlers } from '../addresses/rules-handlers.ts'
import { servicePageHandlers } from '../addresses/service-page-handlers.ts'
import { trafficHandlers } from '../addresses/traffic-handlers.ts'
import { auditHandlers } from '../audit/handlers.ts'
import { copyHandlers } from '../backup-targets/copy-handlers.ts'
import { targetBackupHandlers } from '../backup-targets/target-backup-handlers.ts'
import { targetHandlers } from '../backup-targets/target-handlers.ts'
import { allBackupHandlers } from '../backups/handlers.ts'
import type { Backups } from '../backups/open-backups.ts'
import { scheduleOfNew } from '../backups/schedule-of-new.ts'
import { branchHandlers } from '../branches/handlers.ts'
import { acmeHandlers } from '../certificates/acme/handlers.ts'
import { certificateHandlers } from '../certificates/handlers.ts'
import { allCheckpointHandlers } from '../checkpoints/handlers.ts'
import { workAndCronHandlers } from '../cron/handlers.ts'
import { databaseBrowserHandlers } from '../database-browser/handlers.ts'
import { deployHandlers } from '../deploys/handlers.ts'
import type { DeployKeeper } from '../deploys/keeper.ts'
import { dumpHandlers } from '../dumps/handlers.ts'
import type { ReceivedDumps } from '../dumps/received-dumps.ts'
import { seedsOfStart } from '../dumps/seed-files.ts'
import { fileReadHandlers } from '../files/read-handlers.ts'
import { fileWriteHandlers } from '../files/write-handlers.ts'
import { gitHandlers } from '../git/handlers.ts'
import { healthCheckHandlers } from '../health-checks/handlers.ts'
import type { Handlers, StreamHandlers } from '../http/handler.ts'
import { instanceBackupHandlers } from '../instance-backups/handlers.ts'
import { instanceRestoreHandlers } from '../instance-backups/restore-handler.ts'
import type { LogExportKeeper } from '../log-export/keeper.ts'
import { logHandlers } from '../logs/log-handlers.ts'
import { logStatsHandlers } from '../logs/log-stats-handlers.ts'
import { mailHandlers } from '../mail/mail-handlers.ts'
import { metricsHandlers } from '../metrics/handlers.ts'
import type { MetricsKeeper } from '../metrics/keeper.ts'
import type { Notifier } from '../notifications/dispatcher.ts'
import { notificationHandlers } from '../notifications/handlers.ts'
import { pointInTimeHandlers } from '../point-in-time/handlers.ts'
import type { PortsKeeper } from '../ports/held-ports.ts'
import type { InheritedSockets } from '../ports/inherited-sockets.ts'
import { createAnswers } from '../projects/answers.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { databaseHandlers } from '../projects/database-handlers.ts'
import { envHandlers } from '../projects/env-handlers.ts'
import { projectHandlers } from '../projects/handlers/index.ts'
import { imageHandlers } from '../projects/image-handlers.ts'
import { manifestHandlers } from '../projects/manifest-handlers.ts'
import { serviceHandlers } from '../projects/service-handlers.ts'
import { statsHandlers } from '../projects/stats-handlers.ts'
import type { ProxyKeeper } from '../proxy-keeper.ts'
import { pullHandlers } from '../pulls/pull-handler.ts'
import { runHandlers, runStreams } from '../runs/handlers.ts'
import { createApplied } from '../settings/applied.ts'
import { settingsHandlers } from '../settings/handlers.ts'
import { shareHandlers } from '../shares/share-handlers.ts'
import { createAwake } from '../sleep/fall-asleep-and-wake.ts'
import { sleepHandlers } from '../sleep/handlers.ts'
import type { ProjectUses } from '../sleep/uses.ts'
import { allSnapshotHandlers } from '../snapshots/handlers.ts'
import { sshHandlers } from '../ssh/handlers.ts'
import { systemHandlers } from '../system/handlers.ts'
import { createUpdatesCheck } from '../system/updates-check.ts'
import { terminalHandlers, terminalStreams } from '../terminals/handlers.ts'
import { trashHandlers } from '../trash/handlers.ts'
import type { TrashKeeper } from '../trash/keeper.ts'
import { version } from '../version.ts'
import type { Dispatcher } from '../webhooks/dispatcher.ts'
import { webhookHandlers } from '../webhooks/handlers.ts'
import type { Access } from './access.ts'
import { afterwards } from './afterwards.ts'
import type { Certificates } from './certificates.ts'
import type { Commands } from './commands.ts'
import type { AppContext } from './context.ts'
import type { Files } from './files.ts'
import type { Instance } from './instance.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'
import type { Resumption } from './resumption.ts'
import type { Sharing } from './sharing.ts'
import type { Ssh } from './ssh.ts'

/** The parts of the app that the API answers from. */
export interface HandlersDeps {
  readonly instance: Instance
  readonly resolving: Resolving
  readonly projects: KnownProjects
  /** What changes of projects are made with. */
  readonly changing: ChangeDeps
  readonly commands: Commands
  readonly sharing: Sharing
  readonly backups: Backups
  readonly metrics: MetricsKeeper
  readonly certificates: Certificates
  readonly receivedDumps: ReceivedDumps
  readonly trash: TrashKeeper
  readonly files: Files
  readonly ssh: Ssh
  readonly deploys: DeployKeeper
  readonly uses: ProjectUses
  readonly access: Access
  readonly resumption: Resumption
  readonly dispatcher: Dispatcher
  readonly notifier: Notifier
  readonly logExport: LogExportKeeper
  /** Null where the service has no address. */
  readonly ports: PortsKeeper | null
  readonly sockets: InheritedSockets
}

type Settings = Pick<AppContext, 'config' | 'log' | 'now' | 'onError' | 'restart'>

/** Every operation of the API with who answers it. A new capability is a line here. */
export function createHandlers(
  deps: HandlersDeps,
  settings: Settings,
): { readonly handlers: Handlers; readonly streams: Omit<StreamHandlers, 'watchEvents'> } {
  const { instance, access, dispatcher, resumption } = deps
  const { store } = instance
  const { now } = settings
  const observing = observingHandlers(deps, settings)
  const commands = commandHandlers(deps, settings)
  const ofInstance = { store, backups: deps.backups, ...settings }
  return {
    handlers: {
      ...afterwards(resumption, {
        ...changingHandlers(deps, settings),
        ...observing.handlers,
        ...addressHandlers(deps, settings),
        ...commands.handlers,
        ...settingsHandlers({
          ...{ store, isolation: instance.isolation, live: instance.settings, running: settings.config },
          passwordAgain: access.passwordAgain,
          applied: createApplied(deps, settings),
        }),
      }),
      ...access.handlers,
      ...auditHandlers({ store }),
      ...sshHandlers({ store, resolver: deps.resolving.resolver, config: settings.config, ssh: deps.ssh }),
      ...webhookHandlers({ store, dispatcher, now }),
      ...notificationHandlers({ store, notifier: deps.notifier }),
      ...instanceBackupHandlers(ofInstance),
      ...instanceRestoreHandlers({ ...ofInstance, keys: instance.keys, restart: settings.restart }),
      ...instanceHandlers(deps, settings),
      ...certificateHandlers({
        ...{ store, known: instance.certificates, keeper: deps.certificates },
        ...{ config: settings.config, now },
      }),
      ...acmeHandlers({ store, acme: deps.certificates.acme, config: settings.config, now }),
    },
    streams: { ...observing.streams, ...commands.streams },
  }
}

/** What is wanted of projects, and carried out by operations. */
function changingHandlers(
  {
    changing,
    instance,
    resolving,
    projects,
    commands,
    backups,
    receivedDumps,
    trash,
    files,
    deploys: keeper,
    uses,
  }: HandlersDeps,
  { config, now }: Settings,
) {
  const { store, resolver, engine } = changing
  const { isolation, reveal } = instance
  const { sources, filesOf, repositories, gitHalf, addons } = resolving
  const answers = createAnswers(changing)
  const awake = createAwake({ ...changing, now })
  const services = serviceHandlers({ store, resolver, engine, reveal }, answers)
  const forBranches = { repositories, sources, isolation, network: projects.network }
  return {
    ...projectHandlers(
      {
        ...{
          ...changing,
          addons,
          sources,
          filesOf,
          isolation,
          seeds: seedsOfStart({ store, engine, filesOf, config }),
        },
        newSchedule: () => scheduleOfNew(config, store, now()),
      },
      answers,
    ),
    ...sleepHandlers({ ...changing, now }, answers),
    ...envHandlers(changing, answers),
    ...manifestHandlers(changing, answers),
    ...databaseHandlers({ store, engine, reveal }, answers),
    ...databaseBrowserHandlers({ store, engine, resolver, reveal, awake, uses }, answers),
    ...dumpHandlers({ ...changing, reveal, receivedDumps, config, awake, uses }, answers),
    ...gitHandlers({ ...changing, repositories, gitHalf }, answers),
    ...deployHandlers({ ...changing, repositories, filesOf, keeper, awake, publicUrl: config.publicUrl, now }, answers),
    ...branchHandlers({ ...changing, ...forBranches, deploys: keeper, now }, answers),
    ...allSnapshotHandlers({ ...changing, config, now, filesOf }, answers),
    ...allCheckpointHandlers({ ...changing, accounts: isolation.accounts, filesOf, config, now }, answers),
    ...pointInTimeHandlers({ ...changing, reveal, config, now }, answers),
    ...pullHandlers({ ...changing, reveal, config, filesOf, now, awake }, answers),
    ...services,
    ...addonHandlers({ ...changing, addons }),
    ...projectAddonHandlers({ addons, resolver }, answers, services),
    ...workAndCronHandlers({ store, engine, resolver, runs: commands.runs, memory: projects.cron, now }, answers),
    ...mailHandlers({ store, engine, workers: changing.workers, reveal }, answers),
    ...imageHandlers(changing, answers),
    ...allBackupHandlers({ ...changing, backups, sources, network: projects.network, config, now }, answers),
    ...fileReadHandlers({ store, folders: files.folders }, answers),
    ...fileWriteHandlers({ store, ...files, holding: trash.holding }, answers),
    ...trashHandlers(
      {
        ...changing,
        files: files.fileTrash,
        network: projects.network,
        queues: projects.queues,
        keeper: trash,
        config,
        now,
      },
      answers,
    ),
    ...targetHandlers({ ...changing, backups, config }),
    ...copyHandlers({ ...changing, backups, config }, answers),
    ...renameHandler({ ...changing, network: projects.network, published: projects.published, now }, answers),
    ...targetBackupHandlers({ ...changing, backups, config }, answers),
  }
}

/** What is seen of projects while they run. */
function observingHandlers(
  { changing: { store, engine, model, workers }, instance, backups, metrics, logExport }: HandlersDeps,
  { config: { home }, now }: Settings,
) {
  const { watchProjectLogs, ...logs } = logHandlers({ store, engine, model, workers })
  const { watchProjectStats, ...stats } = statsHandlers({ store, engine, accounts: instance.isolation.accounts })
  const { serving } = instance.certificates
  const history = metricsHandlers({
    ...{ store, model, backups: backups.known, metrics, certificates: serving, home, version, now },
    logExport: logExport.state,
  })
  const health = healthCheckHandlers({ store, engine, model })
  const counts = logStatsHandlers({ store, engine, model, workers, now })
  return {
    handlers: { ...logs, ...counts, ...stats, ...history, ...health },
    streams: { watchProjectLogs, watchProjectStats },
  }
}

/** How projects are reached. */
function addressHandlers({ instance, resolving, projects, sharing }: HandlersDeps, { config, now }: Settings) {
  const { store } = instance
  const { resolver } = resolving
  const { model, network, published, keeper, passes } = projects
  return {
    ...domainHandlers({ store, model, resolver, network, config, published }),
    ...rulesHandlers({ store, model, resolver, network, published, filesOf: resolving.filesOf }),
    ...shareHandlers({ store, model, ...sharing, proxy: controlOf(keeper) }),
    ...servicePageHandlers({
      store,
      model,
      resolver,
      network,
      passes,
      config,
      published,
      proxy: controlOf(keeper),
      now,
    }),
    ...trafficHandlers({ store, proxy: () => (keeper === null ? 'off' : keeper.control()) }),
  }
}

/** What people run in projects. */
function commandHandlers(
  { instance, resolving, commands, resumption, access, changing, uses }: HandlersDeps,
  { now }: Settings,
) {
  const { store, engine, reveal } = instance
  const { resolver, filesOf } = resolving
  const { ready } = resumption
  const { denied } = access
  const awake = createAwake({ ...changing, now })
  const ofRuns = { store, engine, resolver, runs: commands.runs, awake }
  const ofTerminals = { store, engine, resolver, filesOf, reveal, terminals: commands.terminals, awake, uses }
  return {
    handlers: { ...runHandlers(ofRuns), ...terminalHandlers(ofTerminals) },
    streams: { ...runStreams({ ...ofRuns, ready, denied }), ...terminalStreams(ofTerminals) },
  }
}

/** The service itself. */
function instanceHandlers(
  {
    instance,
    resolving,
    projects: { keeper },
    backups,
    metrics,
    certificates,
    resumption,
    ports,
    sockets,
    ssh,
    logExport,
  }: HandlersDeps,
  { config, now }: Settings,
) {
  const { store, engine, isolation } = instance
  return systemHandlers({
    config,
    settings: instance.settings,
    engine,
    catalogue: resolving.catalogue,
    store,
    proxy: controlOf(keeper),
    ssh: ssh.state,
    proxyFault: () => keeper?.fault() ?? null,
    httpsFault: () => keeper?.httpsFault() ?? null,
    ports,
    sockets,
    isolation,
    backups,
    metrics: metrics.history.state,
    logExport: logExport.state,
    updates: createUpdatesCheck({ updateUrl: () => config.updateUrl, version, now }),
    certificates,
    version,
    now,
    startedAt: now().getTime() - process.uptime() * 1000,
    ready: resumption.isReady,
  })
}

/** Null while no proxy was found or started. */
function controlOf(keeper: ProxyKeeper | null): () => ProxyControl | null {
  return () => keeper?.control() ?? null
}
