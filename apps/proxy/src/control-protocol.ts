import type { ListenAddress } from './listen-address.ts'

/** `GET /status` on the control socket. */
export interface ProxyStatus {
  readonly pid: number
  readonly version: string
  /** As it was asked for. */
  readonly listen: string
  /** As it is: with the port that the system chose when 0 was asked for. */
  readonly address: ListenAddress
  readonly routesGeneration: number
  readonly routes: number
  /** Seconds. */
  readonly uptime: number
  readonly requests: number
  readonly connections: number
  readonly tunnels: number
}

/** What a refused command answers. */
export interface ControlProblem {
  readonly code: 'routes_invalid' | 'routes_not_saved' | 'body_too_large' | 'not_json' | 'unknown_command'
  readonly detail: string
}
