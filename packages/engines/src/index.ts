import type { Engine, EngineId } from '@stackquay/engine-api'
import { createDockerEngine, type DockerEngineOptions } from './docker/index.ts'
import { createNativeEngine, type NativeEngineOptions } from './native/index.ts'

export * from './docker/index.ts'
export * from './engines.ts'
export * from './native/index.ts'

/** What any of them needs. */
export interface EngineOptions extends NativeEngineOptions, Pick<DockerEngineOptions, 'host' | 'tls' | 'credentials'> {}

/** One way to run workloads. Each is a folder beside this file, registered by one line below. */
export interface EngineKind {
  readonly id: EngineId
  /** For people. */
  readonly label: string
  open(options: EngineOptions): Promise<Engine>
}

export const engineKinds: readonly EngineKind[] = [
  { id: 'native', label: 'This machine', open: createNativeEngine },
  {
    id: 'docker',
    label: 'Docker',
    open: (options) => createDockerEngine(options),
  },
]
