import { databaseTypeOf } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import {
  type DatabaseUpgrade,
  type DatabaseVersion,
  databaseWorkload,
  isOfDatabase,
  isOfService,
  partOfChange,
  type ServiceVersion,
  serviceTypeIn,
  type VersionChange,
} from '@stackquay/domain'
import type { Engine, SecretRef } from '@stackquay/engine-api'
import type { ProjectRow } from '@stackquay/store'
import { bytesText, requireRoom } from '../backups/free-room.ts'
import type { Backups } from '../backups/open-backups.ts'
import { usersOfParts } from '../backups/project-parts.ts'
import type { EngineChoice } from '../projects/engine-choice.ts'
import { refuseErrors } from '../projects/prepare.ts'
import type { Resolver } from '../projects/resolver.ts'
import type { VersionChanges } from '../projects/version-changes.ts'
import { earlierOf } from './earlier-data.ts'
import { runUpgrade } from './run-upgrade.ts'

export interface UpgradePlanDeps {
  readonly engine: Engine
  readonly engines: EngineChoice
  readonly resolver: Pick<Resolver, 'upgrade'>
  readonly backups: Pick<Backups, 'known'>
  readonly home: string
  reveal(ref: SecretRef): Promise<string>
}

type PlanPart = Awaited<ReturnType<VersionChanges['plan']>>

export function createVersionChanges(deps: UpgradePlanDeps): VersionChanges {
  return {
    earlier: (row) => earlierOf(row, deps.backups),
    plan: (row, versions, world) => planVersions(row, versions, world, deps),
  }
}

type World = Parameters<VersionChanges['plan']>[2]

async function planVersions(
  row: ProjectRow,
  versions: readonly VersionChange[],
  world: World,
  deps: UpgradePlanDeps,
): Promise<PlanPart> {
  const signal = AbortSignal.timeout(lookMs)
  const sizes = await deps.engine.data(row.id, signal)
  const parts = await Promise.all(
    versions.map(async (change): Promise<PlanPart> => {
      const sizeBytes = sizes.find(({ name }) => name === workloadOf(row, change))?.sizeBytes ?? 0
      const users = usersOfParts(row, [partOfChange(change)], world.observed, world.kinds)
      if (isOfDatabase(change)) return planOfDatabase(row, change, { users, sizeBytes, signal }, deps)
      await requireRoom(deps.home, sizeBytes, `The change of "${change.service}" to ${change.to}`)
      return planOfService(row, change, { users, sizeBytes }, world)
    }),
  )
  return {
    steps: parts.flatMap(({ steps }) => steps),
    restarts: [...new Set(parts.flatMap(({ restarts }) => restarts))],
    deletesData: parts.flatMap(({ deletesData }) => deletesData),
    warnings: parts.flatMap(({ warnings }) => warnings),
  }
}

const lookMs = 60_000

async function planOfDatabase(
  row: ProjectRow,
  change: DatabaseVersion,
  {
    users,
    sizeBytes,
    signal,
  }: { readonly users: readonly string[]; readonly sizeBytes: number; readonly signal: AbortSignal },
  deps: UpgradePlanDeps,
): Promise<PlanPart> {
  const upgrade = change.back === null ? await usable(row, change, deps, signal) : null
  const needed = neededBytes(change, upgrade, sizeBytes, deps)
  await requireRoom(deps.home, needed, `The change of "${change.database}" to ${change.to}`)
  return planOfOne(row, change, upgrade, users, needed)
}

/** The backup, and what is made beside the old data. */
function neededBytes(
  { back }: DatabaseVersion,
  upgrade: DatabaseUpgrade | null,
  sizeBytes: number,
  { backups }: Pick<UpgradePlanDeps, 'backups'>,
): number {
  if (back === null) return upgrade?.manner === 'anew' ? 2 * sizeBytes : sizeBytes
  const held = backups.known.find(back.backup)?.manifest.parts ?? []
  return sizeBytes + held.reduce((sum, part) => sum + part.contentBytes, 0)
}

/** Where a program that it needs is not here, nothing is begun. What images hold is known when they are fetched. */
async function usable(
  row: ProjectRow,
  { database, from, to }: DatabaseVersion,
  { engine, engines, resolver, reveal }: UpgradePlanDeps,
  signal: AbortSignal,
): Promise<DatabaseUpgrade> {
  const upgrade = await resolver.upgrade(row, database, { from, to })
  if (upgrade === null) refuseErrors([unavailable(row, database, from)])
  const found = upgrade as DatabaseUpgrade
  if (found.manner === 'anew' && engines.named(row.engine)?.capabilities.images !== true)
    await runUpgrade(found, found.check, { signal, output: () => undefined }, { engine, reveal })
  return found
}

function unavailable({ spec }: ProjectRow, database: string, from: string) {
  const kind = databaseTypeOf(spec.databases[database]?.type ?? '')
  const detail = `The program of ${kind?.label ?? 'the database'} ${from}, which wrote the data, is not here, and it is needed to read it. Install it, or add another database and copy the data.`
  return { pointer: `/databases/${database}/version`, code: 'unavailable_here', detail }
}

function planOfOne(
  row: ProjectRow,
  { database, from, to, back }: DatabaseVersion,
  upgrade: DatabaseUpgrade | null,
  users: readonly string[],
  needed: number,
): PlanPart {
  const workload = workloadOf(row, { database, from, to, back })
  const label = databaseTypeOf(row.spec.databases[database]?.type ?? '')?.label ?? ''
  const steps = [
    ...(users.length === 0 ? [] : [`Stop what uses it: ${users.join(', ')}`]),
    'Back up what is there',
    back === null
      ? titles[upgrade?.manner ?? 'anew'](`${label} ${from}`, `${label} ${to}`)
      : `Put the backup ${back.backup} in its place`,
    `Start ${label} ${to}`,
  ]
  const lost =
    back === null
      ? `A backup is taken before (before-upgrade). If anything fails, version ${from} and its data are back by themselves.`
      : `What was written to "${database}" since ${back.createdAt} is lost: it becomes the backup ${back.backup}. Its credentials become those of then.`
  return {
    steps: steps.map((title) => ({ title, workload, because: [`version ${from} → ${to}`] })),
    restarts: [...users],
    deletesData: back === null ? [] : [workload],
    warnings: [lost, ...stoppedMeanwhile(database, users), roomFor(needed)],
  }
}

const titles = {
  anew: (from: string, to: string) => `Write the data of ${from} anew as ${to}, and compare both`,
  'in-place': (from: string, to: string) => `Convert the data of ${from} to ${to}`,
} as const

function stoppedMeanwhile(name: string, users: readonly string[]): readonly string[] {
  if (users.length === 0) return []
  return [
    `"${name}" and what uses it stop until it is done. Requests wait for half a minute and are refused after that.`,
  ]
}

function roomFor(bytes: number): string {
  return `It needs up to ${bytesText(bytes)} of free room meanwhile.`
}

/** The new program converts the data by itself when it starts, so there is nothing between the backup and that start. */
function planOfService(
  row: ProjectRow,
  change: ServiceVersion,
  { users, sizeBytes }: { readonly users: readonly string[]; readonly sizeBytes: number },
  { unresolved, isUp }: World,
): PlanPart {
  const { service, from, to } = change
  const label = serviceTypeIn(row.spec, service)?.label ?? service
  const starts = isUp || users.includes(service)
  const steps = [
    ...(users.length === 0 ? [] : [`Stop what uses it: ${users.join(', ')}`]),
    'Back up what is there',
    ...(starts ? [`Start ${label} ${to}`] : []),
  ]
  const way = !starts
    ? `It is not started now: ${to} opens the data at its next start.`
    : unresolved.includes(service)
      ? `The program of version ${from} is not here any more: if ${to} does not start, the data is put back and ${label} stays stopped.`
      : `If ${to} does not start, version ${from} and its data are back by themselves.`
  return {
    steps: steps.map((title) => ({ title, workload: service, because: [`version ${from} → ${to}`] })),
    restarts: [...users],
    deletesData: [],
    warnings: [
      `A backup of ${label} is taken before (before-upgrade). ${way}`,
      ...stoppedMeanwhile(service, users),
      roomFor(sizeBytes),
    ],
  }
}

export function workloadOf({ spec }: Pick<ProjectRow, 'spec'>, change: VersionChange): string {
  if (isOfService(change)) return change.service
  const type = spec.databases[change.database]?.type
  if (type === undefined) throw new ProblemError('not_found', `There is no database "${change.database}".`)
  return databaseWorkload(type, change.database)
}
