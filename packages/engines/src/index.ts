import type { Engine, EngineId } from '@stackquay/engine-api'
import { createNativeEngine, type NativeEngineOptions } from './native/index.ts'

export * from './native/index.ts'

/** One way to run workloads. Each is a folder beside this file, registered by one line below. */
export interface EngineKind {
  readonly id: EngineId
  /** For people. */
  readonly label: string
  open(options: NativeEngineOptions): Promise<Engine>
}

export const engineKinds: readonly EngineKind[] = [{ id: 'native', label: 'This machine', open: createNativeEngine }]
