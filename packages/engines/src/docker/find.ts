import type { WorkloadRef } from '@stackquay/engine-api'
import type { ContainerInspectInfo } from 'dockerode'
import type { Daemon } from './daemon.ts'
import { orAbsent } from './errors.ts'
import { DESCRIPTION, isManaged, labelled, objectName, PROJECT, ROLE, type Role, WORKLOAD } from './labels.ts'
import { type Description, parseDescription } from './record.ts'

/** The container of a workload, running or not. */
export interface FoundContainer {
  readonly ref: WorkloadRef
  readonly id: string
  readonly info: ContainerInspectInfo
  /** Null when its label says nothing that is understood. */
  readonly description: Description | null
}

export const containerName = (daemon: Daemon, ref: WorkloadRef) => objectName(daemon, ref.project, ref.workload)

export async function findContainer(daemon: Daemon, ref: WorkloadRef): Promise<FoundContainer | null> {
  const info = await orAbsent(daemon.docker.getContainer(containerName(daemon, ref)).inspect())
  return info === null ? null : asFound(daemon, info)
}

/** Containers of workloads, of one project or of all. */
export async function findContainers(
  daemon: Daemon,
  project?: string,
  signal?: AbortSignal,
): Promise<FoundContainer[]> {
  const listed = await listContainers(daemon, 'workload', project, signal)
  const infos = await Promise.all(listed.map(({ Id }) => orAbsent(daemon.docker.getContainer(Id).inspect())))
  return infos.flatMap((info) => (info === null ? [] : (asFound(daemon, info) ?? [])))
}

/** Managed containers as Docker's list shows them: quick, without asking for each. */
export async function listContainers(daemon: Daemon, role?: Role, project?: string, signal?: AbortSignal) {
  const listed = await daemon.docker.listContainers({
    all: true,
    filters: labelled(daemon, { [ROLE]: role, [PROJECT]: project }),
    ...(signal === undefined ? {} : { abortSignal: signal }),
  })
  return listed.filter(({ Labels }) => isManaged(daemon, Labels))
}

export function asFound(daemon: Daemon, info: ContainerInspectInfo): FoundContainer | null {
  const { Labels } = info.Config
  const project = Labels[PROJECT]
  const workload = Labels[WORKLOAD]
  if (!isManaged(daemon, Labels) || Labels[ROLE] !== 'workload' || project === undefined || workload === undefined)
    return null
  return { ref: { project, workload }, id: info.Id, info, description: parseDescription(Labels[DESCRIPTION]) }
}
