import type { TotalsOfProject } from './access/totals.ts'
import type { ListenAddress } from './listen-address.ts'
import type { UseOfProject } from './project-use.ts'

/** `GET /status` on the control socket. */
export interface ProxyStatus {
  readonly pid: number
  readonly version: string
  /** As it was asked for. */
  readonly listen: string
  /** As it is: with the port that the system chose when 0 was asked for. */
  readonly address: ListenAddress
  /** The user that it runs as; null where users have no numbers. */
  readonly uid: number | null
  /** The listening socket as the kernel names it, `socket:[inode]`; null where it does not say. */
  readonly socket: string | null
  /** The same three of https; null where it is off. */
  readonly listenHttps: string | null
  readonly httpsAddress: ListenAddress | null
  readonly httpsSocket: string | null
  /** Of the certificates in use; null: none were given since the proxy began. */
  readonly certificatesGeneration: number | null
  readonly certificates: number
  readonly routesGeneration: number
  readonly routes: number
  /** Seconds. */
  readonly uptime: number
  readonly requests: number
  readonly connections: number
  readonly tunnels: number
  /** Requests that wait while their projects restart. */
  readonly held: number
  /** The processes that serve, the main one first. */
  readonly workers: readonly number[]
  /** So many there may be. */
  readonly mostWorkers: number
  /** Lines of the access log that were lost, to a full disk for instance. */
  readonly accessDropped: number
}

/** `GET /flights?host=…&port=…` on the control socket: what is under way to an address, whether or not a route leads there. */
export interface FlightsAnswer {
  readonly requests: number
  /** WebSockets and the like, with those that are being opened. */
  readonly tunnels: number
}

/** `GET /uses` on the control socket: of the projects that were used since the proxy began. */
export interface UsesAnswer {
  readonly projects: readonly UseOfProject[]
}

/** `GET /totals` on the control socket: of the projects that were requested since the proxy began, a second ago or earlier. */
export interface TotalsAnswer {
  readonly projects: readonly TotalsOfProject[]
}

/** The answer to a refused command. */
export interface ControlProblem {
  readonly code:
    | 'routes_invalid'
    | 'routes_stale'
    | 'routes_not_saved'
    | 'body_too_large'
    | 'not_json'
    | 'address_invalid'
    | 'unknown_command'
    | 'query_invalid'
    | 'code_invalid'
    | 'certificates_invalid'
    | 'access_unreadable'
  readonly detail: string
}
