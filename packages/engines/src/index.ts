import { dockerKind } from './docker/kind.ts'
import type { EngineKind } from './engine-kind.ts'
import { nativeKind } from './native/kind.ts'

export * from './docker/index.ts'
export * from './engine-kind.ts'
export * from './engines.ts'
export * from './native/index.ts'

/** All that there are. The contract has the list of those that a project can name; a test compares the two. */
export const engineKinds: readonly EngineKind[] = [nativeKind, dockerKind]
