import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { NoteExchange } from '../access/exchange-note.ts'
import type { Redeem } from '../codes.ts'
import { createHolds } from '../holds.ts'
import type { Limits } from '../limits.ts'
import { type UseOfProject, usesOf } from '../project-use.ts'
import { indexRoutes, type RouteIndex } from '../route-index.ts'
import type { RouteTable } from '../route-table.ts'
import { createPublicServer } from '../server.ts'
import { createShareEnds } from '../share-ends.ts'
import { createShareListeners } from '../share-listeners.ts'
import type { ProxyState } from '../state.ts'
import { createTlsFront, type GivenCertificates } from '../tls/front.ts'
import { isEncrypted } from '../tls/is-encrypted.ts'
import type { Flights } from '../upstream/pool.ts'
import { createUpstreams } from '../upstreams.ts'
import { createWaitsForWake } from '../wanted.ts'

/** All that serves requests in one process: the same in the main process and in each worker. */
export interface Serving {
  /** Not listening yet. */
  readonly server: Server
  /** The listener for https, not listening yet. */
  readonly https: NetServer
  readonly table: RouteTable
  /**
   * Every request that begins after this call sees this table; it resolves when what the table opens is open. Throws at
   * once when the table cannot be understood, and changes nothing.
   */
  use(table: RouteTable): Promise<void>
  /** Every handshake that begins after it resolves is made with these, and requests are redirected as they say. */
  useCertificates(given: GivenCertificates): Promise<void>
  counts(): Counts
  flights(host: string, port: number): Flights
  /** How projects were used here. */
  uses(): readonly UseOfProject[]
  /** Accepts nothing new from now on. */
  stop(): void
  /** After `stop`: settles when the last connection has ended, or the deadline has ended it. */
  drain(): Promise<void>
}

export interface ServingOptions {
  readonly limits: Limits
  readonly note: NoteExchange
  readonly withShareListeners: boolean
  /** Requests wait for a project to wake, or none does any more. */
  wanted(project: string, isWanted: boolean): void
  readonly redeem: Redeem
}

export interface Counts {
  readonly requests: number
  readonly connections: number
  readonly tunnels: number
  readonly held: number
}

/** `withShareListeners`: also those of shares, at ports of their own. */
export function createServing(
  routes: RouteIndex,
  { limits, note, withShareListeners, wanted, redeem }: ServingOptions,
): Serving {
  const state: ProxyState = {
    routes,
    draining: false,
    requests: 0,
    tls: null,
    tunnels: new Set(),
    upstreams: createUpstreams(limits),
    shareEnds: createShareEnds(),
    holds: createHolds(limits.held),
    waitsForWake: createWaitsForWake(wanted),
    redeem,
    limits,
    note,
  }
  const connections = createCount()
  const publicServer = () => connections.of(createPublicServer(state))
  const server = publicServer()
  // Only the main process has them: a port has one owner.
  const shareListeners = createShareListeners(publicServer)
  const front = createTlsFront({
    limits,
    state,
    onConnection: connections.add,
    onHttp: (socket) => void server.emit('connection', socket),
  })

  return {
    server,
    https: front.server,
    get table() {
      return state.routes.table
    },
    use(table) {
      state.routes = indexRoutes(table, state.routes)
      state.upstreams.keepOnly(table)
      state.shareEnds.enforce(table)
      state.holds.release()
      return withShareListeners ? shareListeners.enforce(table) : Promise.resolve()
    },
    async useCertificates(given) {
      state.tls = await front.use(given)
    },
    counts: () => ({
      requests: state.requests,
      connections: connections.now,
      tunnels: state.tunnels.size,
      held: state.holds.count,
    }),
    flights: (host, port) => state.upstreams.flights(host, port),
    uses: () => usesOf(state.routes.uses),
    stop() {
      state.draining = true
      stopAccepting(server)
      front.stop()
      shareListeners.close()
    },
    async drain() {
      const deadline = Date.now() + limits.drainWithin
      // A client may be sending on a connection that is idle here. One that uses it sends soon, and is asked to come
      // back by another one.
      const idleFrom = Date.now() + Math.min(limits.drainIdle, limits.drainWithin)
      while (connections.now > 0 && Date.now() < deadline) {
        if (Date.now() >= idleFrom) {
          server.closeIdleConnections()
          front.closeIdle()
        }
        await delay(20)
      }
      // Its checks of connections end with them.
      server.close()
      server.closeAllConnections()
      front.closeAll()
      shareListeners.closeAllConnections()
      for (const socket of state.tunnels) socket.destroy()
      state.shareEnds.stop()
      state.upstreams.close()
    },
  }
}

/** An HTTP server that is closed also ends all connections that are idle just then; those are given some time. */
function stopAccepting(server: Server): void {
  NetServer.prototype.close.call(server)
}

/** Includes upgraded connections, which the HTTP server itself forgets. */
function createCount() {
  let count = 0
  const add = (socket: Socket) => {
    count += 1
    socket.once('close', () => {
      count -= 1
    })
  }
  return {
    get now() {
      return count
    },
    add,
    of(server: Server): Server {
      server.on('connection', (socket) => {
        // One over TLS was counted when it was accepted.
        if (!isEncrypted(socket)) add(socket)
      })
      return server
    },
  }
}
