import type { IncomingMessage, Server } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { plainAddress } from './address-set.ts'
import type { ClientAddress } from './client-address.ts'
import { log } from './log.ts'
import type { IndexedRoute, RouteIndex } from './route-index.ts'
import type { RouteTable, ShareListener } from './route-table.ts'

/**
 * Ports of loopback at which programs bring people from outside to one share each. A request that comes in by one comes from
 * this machine, and from any client: its peer says nothing. Every connection there gets that share, whatever `Host` is named.
 */
export interface ShareListeners {
  /** A new table is in use. Ends when each listener of it is open, or could not be opened now and is tried again. */
  enforce(table: RouteTable): Promise<void>
  /** Nothing comes in any more; what is open goes on. */
  close(): void
  /** Ends what is still open. */
  closeAllConnections(): void
}

interface Open {
  readonly share: string
  readonly server: Server
  again: NodeJS.Timeout | undefined
}

const againAfterMs = 1_000
const shares = new WeakMap<Socket, string>()

export function createShareListeners(createServer: () => Server): ShareListeners {
  const open = new Map<number, Open>()
  const closed = new Set<Server>()

  const shut = (port: number, { server, again }: Open) => {
    clearTimeout(again)
    open.delete(port)
    closed.add(server)
    server.close(() => closed.delete(server))
  }
  const start = (port: number, share: string): Promise<void> => {
    const server = createServer()
    // Before anything is read from it.
    server.prependListener('connection', (socket) => shares.set(socket, share))
    const entry: Open = { share, server, again: undefined }
    open.set(port, entry)
    const tried = Promise.withResolvers<void>()
    let isLogged = false
    const listen = () => server.listen({ host: '127.0.0.1', port, backlog: 256 })
    server.on('error', (error: NodeJS.ErrnoException) => {
      tried.resolve()
      if (open.get(port) !== entry) return
      if (!isLogged) log('the listener of a share is not open; trying again', { share, port, reason: error.message })
      isLogged = true
      entry.again = setTimeout(listen, againAfterMs).unref()
    })
    server.on('listening', () => tried.resolve())
    listen()
    return tried.promise
  }

  return {
    enforce: async (table) => {
      const wanted = new Map(
        table.routes.flatMap(({ share }) => (share?.entrance === undefined ? [] : [[share.entrance.port, share.id]])),
      )
      for (const [port, entry] of [...open]) {
        if (wanted.get(port) === entry.share) continue
        shut(port, entry)
        entry.server.closeAllConnections()
      }
      const fresh = [...wanted].filter(([port]) => !open.has(port))
      await Promise.all(fresh.map(([port, share]) => start(port, share)))
    },
    close: () => {
      for (const [port, entry] of [...open]) shut(port, entry)
    },
    closeAllConnections: () => {
      for (const server of closed) server.closeAllConnections()
    },
  }
}

/** A request that came in by such a listener, by what is known of it rather than by what it says. */
export interface Entry {
  /** Null: its share has ended. */
  readonly route: IndexedRoute | null
  /** The share's own name, by which it is looked up again. */
  readonly host: string
  /** The name under which people outside know it. */
  readonly publicHost: string
  readonly publicPort: string
  readonly client: ClientAddress
}

/** Null for a request that came in by the main listener. */
export function entryOf(request: IncomingMessage, routes: RouteIndex): Entry | null {
  const share = shares.get(request.socket)
  if (share === undefined) return null
  const route = routes.all.find((one) => one.share?.id === share) ?? null
  const listener = route?.share?.entrance
  const host = route?.spec.hosts[0] ?? ''
  const known = listener === undefined || listener.publicUrl === null ? null : new URL(listener.publicUrl)
  return {
    route: listener === undefined ? null : route,
    host,
    publicHost: known?.host ?? host,
    publicPort: known === null ? '80' : known.port || (known.protocol === 'https:' ? '443' : '80'),
    client: clientOf(request, listener, known?.protocol === 'https:' ? 'https' : 'http'),
  }
}

/** The client that the program names; unknown with two headers, or with one that is no address. */
function clientOf(
  request: IncomingMessage,
  listener: ShareListener | undefined,
  proto: ClientAddress['proto'],
): ClientAddress {
  const header = listener?.clientHeader ?? null
  const named = header === null ? [] : (request.headersDistinct[header] ?? [])
  const [only = ''] = named
  const address = named.length === 1 && isIP(only) !== 0 ? plainAddress(only) : null
  return { address, forwardedFor: address ?? 'unknown', proto }
}
