import type { IncomingMessage, Server } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { plainAddress } from './address-set.ts'
import type { ClientAddress } from './client-address.ts'
import { log } from './log.ts'
import type { RouteIndex, Way } from './route-index.ts'
import type { RouteTable, ShareEntrance } from './route-table.ts'

/**
 * Ports of loopback at which programs bring people from outside to one share each. A request that comes in by one has come
 * from this machine, and from anybody: its peer says nothing. Who connects there gets that share, whatever `Host` is named.
 */
export interface Entrances {
  /** A new table is in use. Ends when each entrance of it is open, or could not be opened now and is tried again. */
  enforce(table: RouteTable): Promise<void>
  /** Nobody comes in any more; what is open goes on. */
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

export function createEntrances(createServer: () => Server): Entrances {
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
    let isTold = false
    const listen = () => server.listen({ host: '127.0.0.1', port, backlog: 256 })
    server.on('error', (error: NodeJS.ErrnoException) => {
      tried.resolve()
      if (open.get(port) !== entry) return
      if (!isTold) log('the entrance of a share is not open; trying again', { share, port, reason: error.message })
      isTold = true
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

/** What a request that came in by an entrance is, in place of what it says of itself. */
export interface Entry {
  /** Null: its share has ended. */
  readonly way: Way | null
  /** The share's own name, by which it is looked up again. */
  readonly host: string
  /** The name under which people outside know it. */
  readonly publicHost: string
  readonly publicPort: string
  readonly client: ClientAddress
}

/** Null for a request that came in by the front. */
export function entryOf(request: IncomingMessage, routes: RouteIndex): Entry | null {
  const share = shares.get(request.socket)
  if (share === undefined) return null
  const way = routes.ways.find((one) => one.share?.id === share) ?? null
  const entrance = way?.share?.entrance
  const host = way?.route.hosts[0] ?? ''
  const known = entrance === undefined || entrance.publicUrl === null ? null : new URL(entrance.publicUrl)
  return {
    way: entrance === undefined ? null : way,
    host,
    publicHost: known?.host ?? host,
    publicPort: known === null ? '80' : known.port || (known.protocol === 'https:' ? '443' : '80'),
    client: clientOf(request, entrance, known?.protocol === 'https:' ? 'https' : 'http'),
  }
}

/** Whom the program names. Two headers, or one that is no address, are nobody. */
function clientOf(
  request: IncomingMessage,
  entrance: ShareEntrance | undefined,
  proto: ClientAddress['proto'],
): ClientAddress {
  const header = entrance?.clientHeader ?? null
  const told = header === null ? [] : (request.headersDistinct[header] ?? [])
  const [only = ''] = told
  const address = told.length === 1 && isIP(only) !== 0 ? plainAddress(only) : null
  return { address, forwardedFor: address ?? 'unknown', proto }
}
