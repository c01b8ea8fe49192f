import type { ProjectPatch } from '@stackquay/contract'
import { databasesAskAboutData } from './merge-databases.ts'
import { servicesAskAboutData } from './merge-services.ts'
import type { ProjectSpec } from './spec.ts'

/** Whether what becomes of a patch depends on which data there is, and which version wrote it. */
export function asksAboutData(spec: ProjectSpec, patch: ProjectPatch): boolean {
  return servicesAskAboutData(spec, patch) || databasesAskAboutData(spec.databases, patch)
}
