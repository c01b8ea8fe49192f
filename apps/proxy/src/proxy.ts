import { existsSync } from 'node:fs'
import { type AccessLog, createAccessLog } from './access/access-log.ts'
import { type CertificateSwitch, certificateSwitch } from './certificate-switch.ts'
import { type Codes, createCodes } from './codes.ts'
import type { ProxyStatus } from './control-protocol.ts'
import { type Commands, refuseSecondProxy, serveControl } from './control-socket.ts'
import { reportNowAndThen, sweepHourly, whenGone } from './housekeeping.ts'
import { defaultLimits, type Limits } from './limits.ts'
import type { ListenAddress } from './listen-address.ts'
import { type Listening, listenAll, parseAddresses } from './listen-all.ts'
import { log } from './log.ts'
import { joinUses } from './project-use.ts'
import { readRouteFile } from './route-file.ts'
import { indexRoutes, type RouteIndex } from './route-index.ts'
import { routeSwitch } from './route-switch.ts'
import { emptyTable } from './route-table.ts'
import { stateFiles, writeFacts } from './state-files.ts'
import { proxyVersion } from './version.ts'
import { createWantedProjects, type WantedProjects } from './wanted.ts'
import { whenBusy } from './workers/busy.ts'
import { createServing, type Serving } from './workers/serving.ts'
import { createWorkerPool, type WorkerPool } from './workers/worker-pool.ts'

export interface ProxyOptions {
  readonly home: string
  readonly listen: string
  /** Of https; by default `off`. Certificates come by the socket for commands. */
  readonly listenHttps?: string
  readonly limits?: Partial<Limits>
  /** Processes that serve, this one included: so many from the start, and so many when the load asks for them. */
  readonly workers?: { readonly atOnce: number; readonly most: number }
  /** A socket that listens already, opened by the one who started this. */
  readonly listenFd?: number | null
  readonly listenHttpsFd?: number | null
  /** The same for commands. Who gives it has made sure that no other proxy runs, and writes down who this one is. */
  readonly controlFd?: number | null
}

export interface Proxy {
  readonly address: ListenAddress
  /** Null: off. */
  readonly httpsAddress: ListenAddress | null
  status(): Promise<ProxyStatus>
  /** Stops accepting at once; `done` settles when the last connection has ended or the deadline has ended it. */
  shutdown(): Promise<void>
  readonly done: Promise<void>
}

/**
 * Serves what `routes.json` says at once, with or without a control plane. Throws StartError when the address is taken
 * or the home belongs to a running proxy.
 */
export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const files = stateFiles(options.home)
  const limits = { ...defaultLimits, ...options.limits }
  const { atOnce, most } = options.workers ?? { atOnce: 1, most: 1 }
  const controlFd = options.controlFd ?? null
  const wasKilled = existsSync(files.socket)
  const wanted = parseAddresses(options)
  if (controlFd === null) await refuseSecondProxy(files.socket, options.home)

  const access = createAccessLog({
    folder: files.access,
    bytes: limits.accessBytes,
    days: limits.accessDays,
    onError: reportNowAndThen(),
  })
  const wantedProjects = createWantedProjects()
  const codes = createCodes()
  const serving = createServing(await readRoutes(files.routes), {
    limits,
    note: access.note,
    withShareListeners: true,
    wanted: (project, isWanted) => wantedProjects.report('main', project, isWanted),
    redeem: codes.redeem,
  })
  const listening = await listenAll(serving, wanted, wasKilled)
  const { address } = listening
  await serving.use(serving.table)
  const opened = { access, serving, wanted: wantedProjects, codes }
  const parts: Parts = { ...opened, ...openWorkers(opened, listening, limits, { atOnce, most }) }
  const { pool, certificates } = parts
  const growth = whenBusy(() => {
    pool.grow()
    return pool.size < most - 1
  })
  const sweeps = sweepHourly(access, serving)
  const version = await proxyVersion()
  const startedAt = new Date()
  const facts = { version, ...listening, mostWorkers: most, startedAt }
  const status = () => statusOf(parts, facts)
  const done = Promise.withResolvers<void>()

  const stop = async () => {
    log('draining', { ...serving.counts() })
    growth.stop()
    clearInterval(sweeps)
    // Before the command is answered: a successor may listen here as soon as the answer is out.
    serving.stop()
    await pool.stop()
    wantedProjects.close()
    certificates.stop()
    control.close()
    void drain(parts).then(done.resolve, done.reject)
  }
  const shutdown = once(stop)
  // Before the first answer on the socket: a reader that finds the proxy finds its facts too.
  if (controlFd === null) {
    const { pid } = process
    await writeFacts(files.facts, { pid, version, listen: options.listen, address, socket: files.socket, startedAt })
  }
  const place = controlFd ?? files.socket
  const control = await serveControl(place, { ...commandsOf(parts, files.routes), status, shutdown })

  whenGone(options.home, shutdown)
  log('listening', {
    ...address,
    https: listening.httpsAddress,
    version,
    pid: process.pid,
    routes: serving.table.routes.length,
  })
  return { address, httpsAddress: listening.httpsAddress, status, shutdown, done: done.promise }
}

interface Parts {
  readonly access: AccessLog
  readonly serving: Serving
  readonly pool: WorkerPool
  readonly wanted: WantedProjects
  readonly codes: Codes
  readonly certificates: CertificateSwitch
}

/** The workers, and the certificates that they and this process have. */
function openWorkers(
  { access, serving, wanted, codes }: Omit<Parts, 'pool' | 'certificates'>,
  { httpsAddress }: Listening,
  limits: Limits,
  { atOnce, most }: NonNullable<ProxyOptions['workers']>,
): Pick<Parts, 'pool' | 'certificates'> {
  const certificates = certificateSwitch(
    serving,
    () => pool,
    () => httpsAddress?.port ?? null,
  )
  const pool = createWorkerPool({
    socket: serving.server,
    https: httpsAddress === null ? null : serving.https,
    certificates: certificates.current,
    limits,
    table: () => serving.table,
    count: atOnce - 1,
    most: most - 1,
    record: access.record,
    wanted,
    redeem: codes.redeem,
  })
  return { pool, certificates }
}

type Facts = Listening &
  Pick<ProxyStatus, 'version' | 'mostWorkers'> & {
    readonly startedAt: Date
  }

async function statusOf(
  { serving, pool, access, certificates }: Parts,
  { startedAt, ...facts }: Facts,
): Promise<ProxyStatus> {
  const here = serving.counts()
  const there = await pool.counts()
  const inUse = certificates.current()?.certificates
  return {
    ...facts,
    pid: process.pid,
    uid: process.getuid?.() ?? null,
    certificatesGeneration: inUse?.generation ?? null,
    certificates: inUse?.certificates.length ?? 0,
    routesGeneration: serving.table.generation,
    routes: serving.table.routes.length,
    uptime: Math.round((Date.now() - startedAt.getTime()) / 1000),
    requests: here.requests + there.requests,
    connections: here.connections + there.connections,
    tunnels: here.tunnels + there.tunnels,
    held: here.held + there.held,
    workers: [process.pid, ...pool.pids],
    accessDropped: access.dropped + there.dropped,
  }
}

function commandsOf(
  { access, serving, pool, wanted, codes, certificates }: Parts,
  routes: string,
): Omit<Commands, 'status' | 'shutdown'> {
  return {
    ...routeSwitch(serving, pool, routes),
    replaceCertificates: certificates.replaceCertificates,
    flights: async (host, port) => {
      const here = serving.flights(host, port)
      const there = await pool.flights(host, port)
      return { requests: here.requests + there.requests, tunnels: here.tunnels + there.tunnels }
    },
    uses: async () => ({ projects: joinUses([serving.uses(), await pool.uses()]) }),
    totals: async () => ({ projects: access.totals() }),
    wanted: wanted.next,
    addCode: async (code) => codes.add(code),
    access: access.list,
    traffic: access.traffic,
    viewers: access.viewers,
    forgetAccess: access.forget,
  }
}

/** Every call gets the promise of the first. */
function once(act: () => Promise<void>): () => Promise<void> {
  let first: Promise<void> | null = null
  return () => {
    first ??= act()
    return first
  }
}

/** The last line of the access log is written when nothing is served any more. */
async function drain({ access, serving, pool }: Parts): Promise<void> {
  await Promise.all([serving.drain(), pool.ended()])
  await access.close()
  log('stopped')
}

/** A table that cannot be read is no reason to refuse a whole machine its projects once the control plane sends a new one. */
async function readRoutes(path: string): Promise<RouteIndex> {
  try {
    return indexRoutes(await readRouteFile(path))
  } catch (error) {
    log('saved routes are unusable; serving none until the control plane sends them', {
      path,
      reason: (error as Error).message,
    })
    return indexRoutes(emptyTable)
  }
}
