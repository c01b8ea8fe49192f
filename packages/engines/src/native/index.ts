export type { Account } from './account.ts'
export type { BundledProgram } from './bundled.ts'
export { createNativeEngine, type NativeEngineOptions } from './engine.ts'
export { type NetworkEnvironment, networkEnvironment } from './network-environment.ts'
