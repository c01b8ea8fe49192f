import { runtimeTypes, serviceTypes } from '@stackquay/catalog'
import type { ProjectPatch } from '@stackquay/contract'
import { defaultBranches } from './branches.ts'
import { healthCheckOfFile } from './health-check.ts'
import type { LimitsSpec, ProjectSpec } from './spec.ts'

/**
 * The patch of a project file that also takes away what the file does not name: runtimes and services are switched off,
 * variables removed, health check, sleep and limits forgotten. Data stays, and so do databases: to drop one its name must be typed.
 */
export function pruneOf(spec: ProjectSpec, patch: ProjectPatch): ProjectPatch {
  const off = [
    ...runtimeTypes.filter((kind) => spec.runtimes[kind.name]?.enabled === true),
    ...serviceTypes.filter((kind) => spec.services[kind.name]?.enabled === true),
  ].filter((kind) => patch[kind.name] === undefined)
  const addons = Object.keys(spec.addons ?? {}).filter(
    (name) => spec.services[name]?.enabled === true && !Object.hasOwn(patch.addons ?? {}, name),
  )
  const gone = Object.keys(spec.env).filter((name) => patch.env === undefined || !Object.hasOwn(patch.env, name))
  const env = new Map([...gone.map((name) => [name, null] as const), ...Object.entries(patch.env ?? {})])
  return {
    ...patch,
    ...Object.fromEntries(off.map((kind) => [kind.name, { enabled: false }])),
    ...(addons.length === 0
      ? {}
      : { addons: { ...patch.addons, ...Object.fromEntries(addons.map((name) => [name, { enabled: false }])) } }),
    ...(env.size === 0 ? {} : { env: Object.fromEntries(env) }),
    ...(spec.pull === undefined ? {} : { pull: ofFile(spec.pull, patch.pull) }),
    ...(spec.hooks === undefined ? {} : { hooks: ofFile(spec.hooks, patch.hooks) }),
    ...(spec.workers === undefined ? {} : { workers: ofFile(spec.workers, patch.workers) }),
    ...(spec.cron === undefined ? {} : { cron: ofFile(spec.cron, patch.cron) }),
    ...(spec.healthCheck === null
      ? {}
      : { healthCheck: patch.healthCheck == null ? null : healthCheckOfFile(patch.healthCheck, spec.healthCheck) }),
    ...(spec.sleep === undefined ? {} : { sleep: sleepOfFile(patch.sleep) }),
    ...(spec.branches === undefined
      ? {}
      : { branches: patch.branches == null ? null : { ...defaultBranches, ...patch.branches } }),
    ...(spec.limits === null ? {} : { limits: limitsOfFile(spec.limits, patch.limits) }),
  }
}

/** Sources, hooks, workers and cron jobs that the file does not name go. */
function ofFile<Sent>(
  before: object,
  sent: Readonly<Record<string, Sent>> | null | undefined,
): Record<string, Sent | null> {
  return { ...Object.fromEntries(Object.keys(before).map((name) => [name, null])), ...sent }
}

/** What the file does not say of it goes. */
function sleepOfFile(sent: ProjectPatch['sleep']): ProjectPatch['sleep'] {
  return sent == null ? null : { after: null, hours: null, timezone: 'UTC', ...sent }
}

/** Limits of which the file says nothing go, those of single workloads too. */
function limitsOfFile(before: LimitsSpec, sent: ProjectPatch['limits']): NonNullable<ProjectPatch['limits']> | null {
  if (sent == null) return null
  const gone = Object.entries(before.workloads ?? {}).map(([name, limits]) => {
    const kept = sent.workloads?.[name]
    return [name, kept == null ? null : { ...withNull(limits), ...kept }] as const
  })
  const workloads = { ...sent.workloads, ...Object.fromEntries(gone) }
  const none = withNull({ cpus: before.cpus, memoryBytes: before.memoryBytes, pids: before.pids ?? null })
  return { ...none, ...sent, ...(Object.keys(workloads).length === 0 ? {} : { workloads }) }
}

/** What is limited, without its limits. */
function withNull(limits: object): Record<string, null> {
  return Object.fromEntries(Object.entries(limits).flatMap(([field, value]) => (value === null ? [] : [[field, null]])))
}
