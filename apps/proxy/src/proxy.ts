import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { ProxyStatus } from './control-protocol.ts'
import { refuseSecondProxy, serveControl } from './control-socket.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { type ListenAddress, listenOn, parseListen } from './listen-address.ts'
import { log } from './log.ts'
import { indexRoutes, type RouteIndex } from './route-index.ts'
import { emptyTable, parseRouteTable, type RouteTable } from './route-table.ts'
import { createPublicServer } from './server.ts'
import type { ProxyState } from './state.ts'
import { readJson, stateFiles, writeJson } from './state-files.ts'
import { createUpstreams } from './upstreams.ts'
import { proxyVersion } from './version.ts'

export interface ProxyOptions {
  readonly home: string
  readonly listen: string
  readonly limits?: Partial<Limits>
}

export interface Proxy {
  readonly address: ListenAddress
  status(): ProxyStatus
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
  await refuseSecondProxy(files.socket, options.home)

  const state: ProxyState = {
    routes: await readRoutes(files.routes),
    draining: false,
    requests: 0,
    tunnels: new Set(),
    upstreams: createUpstreams(limits),
    limits,
  }
  const server = createPublicServer(state)
  const connections = countConnections(server)
  const address = await listenOn(server, wanted)
  const version = await proxyVersion()
  const startedAt = new Date()
  const done = Promise.withResolvers<void>()

  const status = (): ProxyStatus => ({
    pid: process.pid,
    version,
    listen: options.listen,
    address,
    routesGeneration: state.routes.table.generation,
    routes: state.routes.table.routes.length,
    uptime: Math.round((Date.now() - startedAt.getTime()) / 1000),
    requests: state.requests,
    connections: connections(),
    tunnels: state.tunnels.size,
  })
  const shutdown = async () => {
    if (state.draining) return
    state.draining = true
    log('draining', { connections: connections(), tunnels: state.tunnels.size })
    // Before the command is answered: who hears the answer may listen here at once.
    server.close()
    control.close()
    void drain(server, state, connections).then(done.resolve, done.reject)
  }
  // Before the first answer on the socket: who finds the proxy finds its facts too.
  await writeJson(files.facts, {
    pid: process.pid,
    processStart: await processStart(),
    startedAt: startedAt.toISOString(),
    version,
    listen: options.listen,
    address,
    socket: files.socket,
  })
  const control = await serveControl(files.socket, {
    status,
    replaceRoutes: routeSwitch(state, files.routes),
    shutdown,
  })

  whenGone(options.home, shutdown)
  log('listening', { ...address, version, pid: process.pid, routes: state.routes.table.routes.length })
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

/** One after the other: the last table asked for is the one in use and the one on disk. */
function routeSwitch(state: ProxyState, path: string): (table: RouteTable) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  return (table) => {
    const next = last.then(async () => {
      state.routes = indexRoutes(table)
      state.upstreams.keepOnly(table)
      await writeJson(path, table)
    })
    last = next.catch(() => {})
    return next
  }
}

async function drain(server: Server, state: ProxyState, connections: () => number): Promise<void> {
  const deadline = Date.now() + state.limits.drainWithin
  while (connections() > 0 && Date.now() < deadline) {
    server.closeIdleConnections()
    await delay(20)
  }
  server.closeAllConnections()
  for (const socket of state.tunnels) socket.destroy()
  await state.upstreams.close()
  log('stopped', { cutOff: connections() })
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

/** Includes upgraded connections, which the HTTP server itself forgets. */
function countConnections(server: Server): () => number {
  let count = 0
  server.on('connection', (socket) => {
    count += 1
    socket.once('close', () => {
      count -= 1
    })
  })
  return () => count
}

/** The kernel's start time of this process in clock ticks since boot: with the pid it names a process for good. */
async function processStart(): Promise<number | null> {
  const text = await readFile('/proc/self/stat', 'utf8').catch(() => undefined)
  if (text === undefined) return null
  // The second field is the program's name and may hold spaces and brackets.
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[19])
}
