import type { Lines } from '../access/line-page.ts'
import type { Entered } from '../codes.ts'
import type { Limits } from '../limits.ts'
import type { UseOfProject } from '../project-use.ts'
import type { RouteChanges } from '../route-changes.ts'
import type { RouteTable } from '../route-table.ts'
import type { GivenCertificates } from '../tls/front.ts'
import type { Flights } from '../upstream/pool.ts'
import type { Counts } from './serving.ts'

/** Orders of the main process to a worker. Each is answered by a report with the same `turn`, in any time. */
export type Order =
  | { readonly kind: 'begin'; readonly limits: Limits; readonly table: RouteTable }
  /** The listening socket comes along. */
  | { readonly kind: 'listen' }
  /** The same for https. */
  | { readonly kind: 'listen-https' }
  | { readonly kind: 'certificates'; readonly given: GivenCertificates }
  | { readonly kind: 'use'; readonly table: RouteTable }
  /** Of the table that it was given last. */
  | { readonly kind: 'change'; readonly changes: RouteChanges }
  | { readonly kind: 'count' }
  | { readonly kind: 'flights'; readonly host: string; readonly port: number }
  | { readonly kind: 'uses' }
  /** Accept nothing more; end when what is under way has ended. */
  | { readonly kind: 'stop' }

export interface Asked {
  readonly turn: number
  readonly order: Order
}

/** The main process's answer to the question of the same `turn`. */
export interface Redeemed {
  readonly redeemed: { readonly turn: number; readonly entered: Entered | null }
}

/** What each kind of order is answered with. */
export interface Answers {
  readonly begin: null
  readonly listen: null
  readonly 'listen-https': null
  readonly certificates: null
  readonly use: null
  readonly change: null
  readonly count: WorkerCounts
  readonly flights: Flights
  readonly uses: readonly UseOfProject[]
  readonly stop: null
}

export interface WorkerCounts extends Counts {
  /** Lines of the access log that could not be handed over. */
  readonly dropped: number
}

export type Report =
  | { readonly turn: number; readonly answer: Answers[keyof Answers] }
  | { readonly lines: Lines }
  /** Requests wait for a project to wake, or none does any more. */
  | { readonly wanted: { readonly project: string; readonly isWanted: boolean } }
  /** Asks for what a code stands for. */
  | { readonly redeem: { readonly turn: number; readonly hash: string; readonly host: string } }
