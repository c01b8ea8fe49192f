import type { EngineEvent } from '@stackquay/engine-api'
import type { Accounts } from './accounts.ts'
import type { Home } from './home.ts'
import type { Confiner } from './isolation/confine.ts'
import type { Isolation } from './isolation/isolation.ts'
import type { LogKeeper } from './log-retention.ts'
import type { NetworkEnvironment } from './network-environment.ts'
import type { ProcessTable } from './process-table.ts'

/** What every act of this engine needs: where files are, who runs them, and how processes are seen. */
export interface Machine {
  readonly home: Home
  readonly network: NetworkEnvironment
  readonly accounts: Accounts
  readonly isolation: Isolation
  readonly confiner: Confiner
  readonly table: ProcessTable
  readonly now: () => Date
  readonly logs: LogKeeper
  readonly emit: (event: EngineEvent) => void
}
