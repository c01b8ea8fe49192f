import type { EngineKind } from '../engine-kind.ts'
import { dockerCapabilities } from './capabilities.ts'
import { createDockerEngine } from './index.ts'

export const dockerKind: EngineKind = {
  id: 'docker',
  label: 'Docker',
  capabilities: dockerCapabilities,
  chosenByAuto: true,
  startWith: 'STACKQUAY_ENGINE=docker (or auto) on a machine with Docker',
  open: createDockerEngine,
}
