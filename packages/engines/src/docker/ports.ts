import type { EngineError, PortBinding, PortOwner, WorkloadRef } from '@stackquay/engine-api'
import { isFree } from '../native/listening.ts'
import { conflicts, portInUse, portOwner as processHolding } from '../native/ports.ts'
import type { Daemon } from './daemon.ts'
import { messageOf } from './errors.ts'
import { listContainers } from './find.ts'
import { PROJECT, WORKLOAD } from './labels.ts'
import { hasOwnNetwork } from './own-container.ts'

/** Which program has a port where Docker runs; null when none is known. */
export async function portOwner(
  daemon: Daemon,
  port: number,
  bind: PortBinding['bind'] = '0.0.0.0',
): Promise<PortOwner | null> {
  const ref = await publisher(daemon, port)
  const isSeen = daemon.isLocal && !(await hasOwnNetwork(daemon))
  const owner = isSeen ? processHolding(daemon, conflicts(daemon, { hostPort: port, bind })) : null
  // Behind a managed port stands Docker's proxy, or a rule of the kernel.
  if (ref !== null) return { pid: owner?.pid ?? null, program: owner?.program ?? null, ref }
  return owner
}

async function publisher(daemon: Daemon, port: number): Promise<WorkloadRef | null> {
  for (const { State, Ports, Labels } of await listContainers(daemon, 'workload')) {
    const project = Labels[PROJECT]
    const workload = Labels[WORKLOAD]
    if (State !== 'running' || project === undefined || workload === undefined) continue
    if (Ports.some(({ PublicPort }) => PublicPort === port)) return { project, workload }
  }
  return null
}

/** Said before anything is made, where this machine can see it. */
export async function checkPorts(daemon: Daemon, ports: readonly PortBinding[]): Promise<void> {
  // Ports of a container of our own are not those of its machine.
  if (!daemon.isLocal || (await hasOwnNetwork(daemon))) return
  for (const binding of ports) {
    if (!(await isFree(binding.hostPort, binding.bind))) throw await taken(daemon, binding)
  }
}

/** What Docker says of a port that it could not have, with the owner named; any other error as it is. */
export async function asPortError(daemon: Daemon, ports: readonly PortBinding[], error: unknown): Promise<unknown> {
  const message = messageOf(error)
  if (!/port is already allocated|address already in use|Ports are not available/i.test(message)) return error
  const binding = ports.find(({ hostPort }) => new RegExp(`:${hostPort}\\b`).test(message)) ?? ports[0]
  if (binding === undefined) return error
  return taken(daemon, binding)
}

async function taken(daemon: Daemon, binding: PortBinding): Promise<EngineError> {
  const owner = await portOwner(daemon, binding.hostPort, binding.bind)
  return portInUse(binding, owner ?? { pid: null, program: null, ref: null })
}
