import type { Engine } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { openAccess } from './app/access.ts'
import { openArchives } from './app/archives.ts'
import { openBranches } from './app/branches.ts'
import { openCertificates } from './app/certificates.ts'
import { changingOf } from './app/changing.ts'
import { openCommands } from './app/commands.ts'
import type { AppContext } from './app/context.ts'
import { openCron } from './app/cron.ts'
import { openDeploys } from './app/deploys.ts'
import { openFiles } from './app/files.ts'
import { openHttp } from './app/http.ts'
import { openInstance } from './app/instance.ts'
import { openMetrics } from './app/metrics.ts'
import { openOperations } from './app/operations.ts'
import { openOutgoing } from './app/outgoing.ts'
import { openKnownProjects } from './app/projects.ts'
import { openResolving } from './app/resolving.ts'
import { beginResuming } from './app/resumption.ts'
import { openSharing } from './app/sharing.ts'
import { openSleeping } from './app/sleeping.ts'
import { openSsh, type Ssh } from './app/ssh.ts'
import { openTrash } from './app/trash.ts'
import { openBackups } from './backups/open-backups.ts'
import { openScheduler } from './backups/scheduler.ts'
import type { Config } from './config.ts'
import { openReceivedDumps } from './dumps/received-dumps.ts'
import { createProvision } from './isolation/provision.ts'
import type { PortsKeeper } from './ports/held-ports.ts'
import type { InheritedSockets } from './ports/inherited-sockets.ts'
import type { SetupCode } from './setup-code.ts'
import { tidyRegularly } from './tidy.ts'
import { createWorkers } from './workers/workers.ts'

export interface App {
  readonly http: FastifyInstance
  /** What it runs with: the environment, and what is stored. */
  readonly config: Config
  readonly store: Store
  readonly setup: SetupCode
  /** Listens when it is told to; closed with the app. */
  readonly ssh: Pick<Ssh, 'listen' | 'state'>
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
  /** For tests of the app itself: how often it is looked for projects that are to sleep or wake. */
  readonly sleepLookMs?: number
  /** Sockets that were opened for the service by whoever started it. */
  readonly sockets?: InheritedSockets
  /** Who keeps the ports of page and proxy; closed with the app. */
  readonly ports?: PortsKeeper
  /** Asks whoever made the app to close it and to make another in its place, with the state that was made ready for it. */
  readonly restart?: () => void
}

/** The composition root. Each part is made from those above it, and says in its file of `app/` what it needs and what it gives. */
export async function createApp(options: AppOptions): Promise<App> {
  const { log, say, now = () => new Date(), sockets = {}, ports = null, restart = null, sleepLookMs } = options
  // Its own: what is stored is put into it, and what is changed while it runs.
  const config = { ...options.config }
  const life = new AbortController()
  const onError: AppContext['onError'] = (error, what) => log.error({ err: error }, what)
  const context: AppContext = { config, log, say, now, onError, restart, signal: life.signal, sleepLookMs }

  const instance = await openInstance(options.engine, context)
  const { store, engine, isolation } = instance
  const receivedDumps = await openReceivedDumps(config.home, store)
  const workers = createWorkers()
  const resolving = await openResolving(instance, context)
  const backups = await openBackups({
    home: config.home,
    store,
    instanceArchives: instance.instanceArchives,
    addons: resolving.addons.now,
    onError,
  })
  const projects = openKnownProjects({ instance, resolving, sockets }, context)

  const provision = createProvision({ isolation, store, engine, config, report: (text) => log.info(text) })
  const commands = openCommands({ instance, resolving, projects, provision, workers }, context)
  const sharing = openSharing({ instance, resolving, projects }, context)
  const changing = changingOf({ instance, resolving, projects, workers, backups }, context)
  const operating = { instance, resolving, projects, commands, provision, backups, receivedDumps }
  const operations = openOperations(changing, operating, context)

  const access = await openAccess({ ...instance, keyReplaced: backups.keys.renew, model: projects.model }, context)
  const resumption = beginResuming({ instance, resolving, projects, commands, sharing, operations }, context)
  const [{ orchestrator }, { model }] = [operations, projects]
  const scheduler = openScheduler({ store, model, orchestrator, backups, now, onError, ready: resumption.ready })
  const cron = openCron({ instance, projects, commands, resumption }, context)
  const archives = openArchives({ instance, resolving, projects, operations, resumption }, context)
  const files = await openFiles(instance, context)
  const trash = openTrash(instance, files, resumption, context)
  const deploys = openDeploys({ instance, resolving, projects, changing, operations, resumption }, context)
  const branches = openBranches({ instance, resolving, projects, operations, resumption }, context)
  const sleeping = openSleeping({ instance, projects, operations, resumption }, context)
  const certificates = openCertificates({ instance, resolving, projects, resumption }, context)
  const metrics = openMetrics({ instance, projects, resumption }, context)
  const ssh = await openSsh({ instance, resolving, projects, commands, access, sleeping }, context)
  const stopTidying = tidyRegularly({ store, config, now, onError, namesExpired: projects.namesExpired })
  const outgoing = await openOutgoing({ instance, certificates, projects, resumption }, context)

  const kept = { ports, sockets, trash, files, deploys, ssh, metrics, certificates }
  const parts = { ...operating, ...kept, ...outgoing, sharing, access, resumption }
  const http = openHttp({ ...parts, uses: sleeping.uses, changing: { ...changing, orchestrator } }, context)

  return {
    ...{ http, config, store, ssh },
    setup: access.setup,
    ready: resumption.ready,
    close: async () => {
      stopTidying()
      projects.close()
      ports?.close()
      // Whatever fails on the way, the store is closed and the home let go.
      try {
        // First what people see, then what works for them, then what writes it down; what holds programs and files at the end.
        await Promise.all([http.close(), ssh.close()])
        const keepers = [scheduler, cron, archives, trash, deploys, branches, sleeping, metrics, certificates]
        await Promise.all(keepers.map((keeper) => keeper.close()))
        await Promise.all([commands.terminals.close(), sharing.shares.close()])
        for (const part of [outgoing, commands.runs, orchestrator, workers, access.refresher]) await part.close()
        await projects.settled()
        life.abort()
        await Promise.all([isolation.portWalls?.close(), isolation.users?.close()])
        await files.close()
        await resolving.files.close()
        await resumption.swept()
        await engine.close()
      } finally {
        await instance.letGo()
      }
    },
  }
}
