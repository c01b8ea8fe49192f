import { isArchiveData } from './point-in-time.ts'
import { databaseWorkload } from './resolve-connections.ts'
import { isSnapshotData, isSnapshotSecret } from './snapshots.ts'
import type { ProjectSpec } from './spec.ts'

/** Checkpoints that people made of one project. Those of restores are counted apart: see `spareBeforeRestore`. */
export const mostCheckpoints = 10

const prefix = 'chk_'

/** Name of the kept data that holds the source folder, as an archive is unpacked there. */
export function checkpointSource(id: string): string {
  return id
}

/** Name of the copy of this data. An id has no hyphen, so the first one ends it. */
export function checkpointData(id: string, data: string): string {
  return `${id}-${data}`
}

/** The checkpoint that this kept data is part of; null: it is none of a checkpoint. */
export function checkpointOfData(name: string): string | null {
  return name.startsWith(prefix) ? (name.split('-')[0] ?? name) : null
}

/** Specification, secrets, names and rules as one sealed text. */
export function checkpointSecret(id: string): string {
  return `checkpoint/${id}`
}

/** Kept data that is a copy of other data of its project: no copy, backup or checkpoint takes it along. */
export function isCopiedData(name: string): boolean {
  return isSnapshotData(name) || isArchiveData(name) || checkpointOfData(name) !== null
}

/** Texts that belong to such copies. */
export function isSecretOfCopy(name: string): boolean {
  return isSnapshotSecret(name) || name.startsWith('checkpoint/')
}

/** Pure: why no further one of this name can be made; null: it can. */
export function checkpointBlocker(
  known: readonly { readonly name: string; readonly source: 'manual' | 'before-restore' }[],
  name: string,
): string | null {
  if (known.some((one) => one.name === name)) return `There is a checkpoint "${name}" already. Choose another name.`
  if (known.filter(({ source }) => source === 'manual').length < mostCheckpoints) return null
  return `There are ${mostCheckpoints} checkpoints of the project, and more are not kept. Delete one first.`
}

/** Pure: the specification of a checkpoint, to be the newest one. What people call the project meanwhile stays. */
export function checkpointSpec(now: ProjectSpec, held: ProjectSpec): ProjectSpec {
  return { ...held, name: now.name }
}

/** Something that the project had to itself at the checkpoint. */
export interface HeldAlone {
  readonly hosts: readonly string[]
  readonly ports: readonly { readonly workload: string; readonly port: string; readonly hostPort: number }[]
}

/** Pure: host names and published ports that others have by now, a sentence each. */
export function takenSince(
  { hosts, ports }: HeldAlone,
  spec: Pick<ProjectSpec, 'databases' | 'services'>,
  holder: { host(name: string): string | null; port(hostPort: number): string | null },
): readonly string[] {
  const published = new Set([
    ...Object.entries(spec.databases).flatMap(([name, { type, exposePort }]) =>
      exposePort ? [databaseWorkload(type, name)] : [],
    ),
    ...Object.entries(spec.services).flatMap(([name, { exposePort }]) => (exposePort === true ? [name] : [])),
  ])
  return [
    ...hosts.flatMap((host) => {
      const by = holder.host(host)
      return by === null ? [] : [`The host name "${host}" belongs to ${by} now.`]
    }),
    ...ports.flatMap(({ workload, hostPort }) => {
      const by = published.has(workload) ? holder.port(hostPort) : null
      return by === null ? [] : [`The port ${hostPort} of ${workload} belongs to ${by} now.`]
    }),
  ]
}

/** Pure: data that there is now and that the checkpoint has not; it goes with a restore, and is in the checkpoint made before that. */
export function dataSince(there: readonly string[], held: readonly string[]): readonly string[] {
  return there.filter((name) => !isCopiedData(name) && !held.includes(name))
}
