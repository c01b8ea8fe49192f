import type { EngineEvent } from '@stackquay/engine-api'
import type { Account } from './account.ts'
import type { Home } from './home.ts'
import type { LogKeeper } from './log-retention.ts'
import type { NetworkEnvironment } from './network-environment.ts'
import type { ProcessTable } from './process-table.ts'

/** What every act of this engine stands on: where things lie, who runs them, and how processes are seen. */
export interface Machine {
  readonly home: Home
  readonly network: NetworkEnvironment
  /** Null: workloads run as the user of this process. */
  readonly account: Account | null
  /** Name of the user workloads run as, where it has one. */
  readonly userName: string | null
  readonly table: ProcessTable
  readonly now: () => Date
  readonly logs: LogKeeper
  readonly emit: (event: EngineEvent) => void
}

/** Uid of the workloads' processes. */
export function workloadUid(machine: Pick<Machine, 'account'>): number {
  return machine.account?.uid ?? process.getuid?.() ?? -1
}
