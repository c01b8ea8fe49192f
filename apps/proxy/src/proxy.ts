import { existsSync } from 'node:fs'
import type { Server } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type AccessLog, createAccessLog } from './access/access-log.ts'
import type { ProxyStatus } from './control-protocol.ts'
import { type Commands, refuseSecondProxy, serveControl } from './control-socket.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { type ListenAddress, listenOn, listenOnGiven, parseListen, StartError } from './listen-address.ts'
import { socketNameOf } from './listeners.ts'
import { log } from './log.ts'
import { type RouteChanges, withChanges } from './route-changes.ts'
import { indexRoutes, type RouteIndex } from './route-index.ts'
import { emptyTable, parseRouteTable, type RouteTable } from './route-table.ts'
import { readJson, stateFiles, writeFacts, writeJson } from './state-files.ts'
import { proxyVersion } from './version.ts'
import { whenBusy } from './workers/busy.ts'
import { type Crew, createCrew } from './workers/crew.ts'
import { createServing, type Serving } from './workers/serving.ts'

export interface ProxyOptions {
  readonly home: string
  readonly listen: string
  readonly limits?: Partial<Limits>
  /** Processes that serve, this one included: so many from the start, and so many when the load asks for them. */
  readonly workers?: { readonly atOnce: number; readonly most: number }
  /** A socket that listens already, opened by the one who started this. */
  readonly listenFd?: number | null
  /** The same for commands. Who gives it has made sure that no other proxy runs, and writes down who this one is. */
  readonly controlFd?: number | null
}

export interface Proxy {
  readonly address: ListenAddress
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
  const wanted = parseListen(options.listen)
  const controlFd = options.controlFd ?? null
  const wasKilled = existsSync(files.socket)
  if (controlFd === null) await refuseSecondProxy(files.socket, options.home)

  const access = createAccessLog({
    folder: files.access,
    bytes: limits.accessBytes,
    days: limits.accessDays,
    onError: reportNowAndThen(),
  })
  const serving = createServing(await readRoutes(files.routes), { limits, note: access.note, withEntrances: true })
  const address =
    typeof options.listenFd === 'number'
      ? await listenOnGiven(serving.server, options.listenFd)
      : await listenAfter(wasKilled, serving.server, wanted)
  const socket = socketNameOf(serving.server)
  await serving.use(serving.table)
  const { atOnce, most } = options.workers ?? { atOnce: 1, most: 1 }
  const crew = createCrew({
    socket: serving.server,
    limits,
    table: () => serving.table,
    count: atOnce - 1,
    most: most - 1,
    record: access.record,
  })
  const growth = whenBusy(() => {
    crew.grow()
    return crew.size < most - 1
  })
  const sweeps = sweepHourly(access, serving)
  const version = await proxyVersion()
  const startedAt = new Date()
  const done = Promise.withResolvers<void>()
  let stopping: Promise<void> | null = null

  const status = async (): Promise<ProxyStatus> => {
    const here = serving.counts()
    const there = await crew.counts()
    return {
      pid: process.pid,
      version,
      listen: options.listen,
      address,
      uid: process.getuid?.() ?? null,
      socket,
      routesGeneration: serving.table.generation,
      routes: serving.table.routes.length,
      uptime: Math.round((Date.now() - startedAt.getTime()) / 1000),
      requests: here.requests + there.requests,
      connections: here.connections + there.connections,
      tunnels: here.tunnels + there.tunnels,
      held: here.held + there.held,
      workers: [process.pid, ...crew.pids],
      mostWorkers: most,
      accessDropped: access.dropped + there.dropped,
    }
  }
  const shutdown = () => {
    stopping ??= stop()
    return stopping
  }
  const stop = async () => {
    log('draining', { ...serving.counts() })
    growth.stop()
    clearInterval(sweeps)
    // Before the command is answered: who hears the answer may listen here at once.
    serving.stop()
    await crew.stop()
    control.close()
    void drain(serving, crew).then(async () => {
      await access.close()
      log('stopped')
      done.resolve()
    }, done.reject)
  }
  // Before the first answer on the socket: who finds the proxy finds its facts too.
  if (controlFd === null) {
    const { pid } = process
    await writeFacts(files.facts, { pid, version, listen: options.listen, address, socket: files.socket, startedAt })
  }
  const control = await serveControl(controlFd ?? files.socket, {
    status,
    ...routeSwitch(serving, crew, files.routes),
    shutdown,
    flights: async (host, port) => {
      const here = serving.flights(host, port)
      const there = await crew.flights(host, port)
      return { requests: here.requests + there.requests, tunnels: here.tunnels + there.tunnels }
    },
    access: access.list,
    traffic: access.traffic,
    viewers: access.viewers,
    forgetAccess: access.forget,
  })

  whenGone(options.home, shutdown)
  log('listening', { ...address, version, pid: process.pid, routes: serving.table.routes.length })
  return { address, status, shutdown, done: done.promise }
}

/** A table that cannot be read is no reason to refuse a whole machine its projects once the control plane sends a new one. */
async function readRoutes(path: string): Promise<RouteIndex> {
  try {
    const saved = await readJson(path)
    return indexRoutes(saved === undefined ? emptyTable : parseRouteTable(saved))
  } catch (error) {
    log('saved routes are unusable; serving none until the control plane sends them', {
      path,
      reason: (error as Error).message,
    })
    return indexRoutes(emptyTable)
  }
}

/** Workers of a proxy that was killed notice it by themselves, but maybe a moment after its successor began. */
async function listenAfter(wasKilled: boolean, server: Server, wanted: ListenAddress): Promise<ListenAddress> {
  const deadline = Date.now() + (wasKilled ? 3_000 : 0)
  for (;;) {
    try {
      return await listenOn(server, wanted)
    } catch (error) {
      if (!(error instanceof StartError) || Date.now() >= deadline) throw error
      await delay(50)
    }
  }
}

/** One after the other: the last table asked for is the one in use and the one on disk. */
function routeSwitch(serving: Serving, crew: Crew, path: string): Pick<Commands, 'replaceRoutes' | 'changeRoutes'> {
  let last: Promise<unknown> = Promise.resolve()
  const inOrder = (act: () => Promise<void>): Promise<void> => {
    const next = last.then(act)
    last = next.catch(() => {})
    return next
  }
  const use = async (table: RouteTable, tellCrew: () => Promise<void>) => {
    // Here first: a worker that starts now gets it from here.
    const used = serving.use(table)
    await Promise.all([used, tellCrew()])
    await writeJson(path, table)
  }
  return {
    replaceRoutes: (table) => inOrder(() => use(table, () => crew.use(table))),
    changeRoutes: (changes: RouteChanges) =>
      inOrder(() => use(withChanges(serving.table, changes), () => crew.change(changes))),
  }
}

async function drain(serving: Serving, crew: Crew): Promise<void> {
  await Promise.all([serving.drain(), crew.ended()])
}

/** What belongs to no project any more, or is too old. The first look is soon: a proxy may be restarted every day. */
function sweepHourly(access: AccessLog, serving: Serving): NodeJS.Timeout {
  const sweep = () => {
    const kept = new Set(serving.table.routes.map(({ project }) => project.id))
    access
      .sweep(kept)
      .catch((error: unknown) => log('old access logs could not be removed', { reason: (error as Error).message }))
  }
  setTimeout(sweep, 60_000).unref()
  return setInterval(sweep, 3_600_000).unref()
}

/** A full disk fails every write; one line a minute tells enough. */
function reportNowAndThen(): (error: unknown, lines: number) => void {
  let since = 0
  let lost = 0
  return (error, lines) => {
    lost += lines
    if (Date.now() - since < 60_000) return
    log('the access log could not be written; requests are served all the same', {
      reason: (error as Error).message,
      lines: lost,
    })
    since = Date.now()
    lost = 0
  }
}

/** Who deletes the home wants the proxy gone too, and has no socket left to say so. */
function whenGone(home: string, shutdown: () => Promise<void>): void {
  const timer = setInterval(() => {
    if (existsSync(home)) return
    clearInterval(timer)
    log('the home is gone', { home })
    void shutdown()
  }, 2_000)
  timer.unref()
}
