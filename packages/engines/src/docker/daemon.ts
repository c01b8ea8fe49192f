import type Dockerode from 'dockerode'
import type { Accounts } from '../native/accounts.ts'
import type { Home } from '../native/home.ts'
import type { NetworkEnvironment } from '../native/network-environment.ts'
import type { ProcessTable } from '../native/process-table.ts'
import type { OwnContainer } from './own-container.ts'

/** What every act of this engine needs: the Docker daemon, and which objects on it are managed. */
export interface Daemon {
  readonly docker: Dockerode
  /** Whether it runs on this machine, so that its containers' addresses and control groups are reached from here. */
  readonly isLocal: boolean
  /** Where published ports are reached. */
  readonly host: string
  /** Whether what is said to it is neither encrypted nor kept on this machine. */
  readonly isExposed: boolean
  /** Tells this installation's objects from those of another one on the same daemon. */
  readonly instance: string
  /** The user of workloads whose image has no user of its own: that of their project. */
  readonly accounts: Accounts
  /** For logs, commands and notes; `data` and `toolchains` stay empty. */
  readonly home: Home
  /** Processes of this machine: who holds a port, and whose lock is left behind. */
  readonly table: ProcessTable
  /** How programs reach the network from here. */
  readonly network: NetworkEnvironment
  /** Ranges of which networks get their addresses; null: chosen here. */
  readonly subnets: readonly string[] | null
  /** The container that this process itself runs in; null when it runs in none of this Docker. Asks Docker at most once. */
  own(): Promise<OwnContainer | null>
  now(): Date
}
