import type { Engine, EngineId, FixedCapabilities } from '@stackquay/engine-api'
import type { DockerEngineOptions } from './docker/index.ts'
import type { NativeEngineOptions } from './native/index.ts'

/** One way to run workloads: a folder beside this file, and a line in `engineKinds`. */
export interface EngineKind {
  readonly id: EngineId
  /** For people. */
  readonly label: string
  /** Its capabilities on every machine; an engine that was opened says the rest. One that cannot be away is on every instance. */
  readonly capabilities: FixedCapabilities
  /** Without a choice, new projects get it when it answers at the first start. The first such kind wins. */
  readonly chosenByAuto: boolean
  /** The setting that starts the service with it, after "Start the service with". */
  readonly startWith: string
  open(options: EngineOptions): Promise<Engine>
}

/** Needs of every kind. */
export interface EngineOptions extends NativeEngineOptions, Pick<DockerEngineOptions, 'host' | 'tls' | 'credentials'> {}
