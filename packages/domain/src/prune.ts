import { runtimeKinds, serviceKinds } from '@stackquay/catalog'
import type { ProjectPatch } from '@stackquay/contract'
import type { ProjectSpec } from './spec.ts'

/**
 * The patch of a project file that also takes away what the file does not name: runtimes and services are switched off,
 * variables removed, health check and limits forgotten. Data stays, and so do databases: to drop one its name must be typed.
 */
export function pruneOf(spec: ProjectSpec, patch: ProjectPatch): ProjectPatch {
  const off = [
    ...runtimeKinds.filter((kind) => spec.runtimes[kind.name]?.enabled === true),
    ...serviceKinds.filter((kind) => spec.services[kind.name]?.enabled === true),
  ].filter((kind) => patch[kind.name] === undefined)
  const gone = Object.keys(spec.env).filter((name) => patch.env === undefined || !Object.hasOwn(patch.env, name))
  const env = new Map([...gone.map((name) => [name, null] as const), ...Object.entries(patch.env ?? {})])
  return {
    ...patch,
    ...Object.fromEntries(off.map((kind) => [kind.name, { enabled: false }])),
    ...(env.size === 0 ? {} : { env: Object.fromEntries(env) }),
    ...(patch.healthCheck === undefined && spec.healthCheck !== null ? { healthCheck: null } : {}),
    ...(patch.limits === undefined && spec.limits !== null ? { limits: null } : {}),
  }
}
