import type { EngineKind } from '../engine-kind.ts'
import { nativeCapabilities } from './capabilities.ts'
import { createNativeEngine } from './engine.ts'

export const nativeKind: EngineKind = {
  id: 'native',
  label: 'This machine',
  capabilities: nativeCapabilities,
  chosenByAuto: false,
  startWith: 'STACKQUAY_ENGINE=native',
  open: createNativeEngine,
}
