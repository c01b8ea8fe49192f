import type { Duplex } from 'node:stream'
import type { NoteExchange } from './access/exchange-note.ts'
import type { Redeem } from './codes.ts'
import type { Holds } from './holds.ts'
import type { Limits } from './limits.ts'
import type { RouteIndex } from './route-index.ts'
import type { ShareEnds } from './share-ends.ts'
import type { TlsRules } from './tls-rules.ts'
import type { Upstreams } from './upstreams.ts'
import type { WaitsForWake } from './wanted.ts'

/** What all connections share. `routes` is replaced as a whole; a request looks once and keeps what it saw. */
export interface ProxyState {
  routes: RouteIndex
  /** From the moment a shutdown is asked for: answers end their connections, so that clients come back elsewhere. */
  draining: boolean
  requests: number
  /** Replaced as a whole too; null while there is neither a certificate nor somebody who validates a name. */
  tls: TlsRules | null
  /** Upgraded connections: the HTTP server no longer knows them. */
  readonly tunnels: Set<Duplex>
  readonly upstreams: Upstreams
  readonly shareEnds: ShareEnds
  readonly holds: Holds
  readonly waitsForWake: WaitsForWake
  readonly redeem: Redeem
  readonly limits: Limits
  /** Called once at the end of each exchange that had a route. */
  readonly note: NoteExchange
}
