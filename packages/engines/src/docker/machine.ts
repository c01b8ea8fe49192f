import type { EngineEvent } from '@stackquay/engine-api'
import type { Daemon } from './daemon.ts'
import type { DockerLogs } from './logs/index.ts'
import type { RegistryCredentials } from './registry-credentials.ts'
import type { Supervisor } from './supervisor.ts'

/** What the steps of this engine need. */
export interface DockerMachine {
  readonly daemon: Daemon
  readonly logs: DockerLogs
  readonly supervisor: Supervisor
  readonly credentials: RegistryCredentials
  readonly emit: (event: EngineEvent) => void
}
