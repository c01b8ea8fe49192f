import { EngineError, type PortBinding, type PortOwner, type WorkloadRef } from '@stackquay/engine-api'
import { family, type Leader } from './family.ts'
import type { Machine } from './machine.ts'
import { refOfMarker } from './marker.ts'
import type { Holding, Listener, ProcessEntry } from './process-table.ts'

/** Sockets that keep a program from listening where the binding wants it. */
export function conflicts(
  machine: Pick<Machine, 'table'>,
  binding: Pick<PortBinding, 'hostPort' | 'bind'>,
): readonly Listener[] {
  const near = new Set(['127.0.0.1', '0.0.0.0', '::', '::1'])
  return machine.table
    .listeners(binding.hostPort)
    .filter(({ address }) => binding.bind === '0.0.0.0' || near.has(address))
}

/** Which of these processes holds one of the sockets. */
export function holdingAmong(
  machine: Pick<Machine, 'table'>,
  processes: readonly ProcessEntry[],
  sockets: readonly Listener[],
): Holding | null {
  const inodes = new Set(sockets.map((socket) => socket.inode))
  for (const { pid } of processes) {
    const found = machine.table.holding(pid, inodes)
    if (found !== null) return found
  }
  return null
}

export function portOwner(machine: Pick<Machine, 'home' | 'table'>, sockets: readonly Listener[]): PortOwner | null {
  if (sockets.length === 0) return null
  const owner = holdingAmong(machine, machine.table.list(), sockets)
  if (owner === null) return { pid: null, program: null, ref: null }
  const marker = machine.table.marker(owner.pid)
  return {
    pid: owner.pid,
    program: machine.table.program(owner.pid),
    ref: marker === null ? null : refOfMarker(machine.home, marker),
  }
}

/** Ports on which any of these processes listens. */
export function portsOf(machine: Machine, processes: readonly ProcessEntry[]): readonly number[] {
  const all = machine.table.listeners()
  const held = all.filter((socket) => holdingAmong(machine, processes, [socket]) !== null)
  return [...new Set(held.map((socket) => socket.port))].sort((a, b) => a - b)
}

/**
 * The address of this machine at which one of the own sockets answers; null when another program's would, or none. The most particular
 * address wins: beside a program on all of IPv6 a stranger can listen on 127.0.0.1. `answered`: where something was found to answer, which
 * the kernel's list does not say of such a program.
 */
export function reachableHost(
  sockets: readonly Listener[],
  isOwn: (socket: Listener) => boolean,
  answered = '127.0.0.1',
): string | null {
  const four = ['127.0.0.1', '0.0.0.0', '::'] as const
  const six = ['::1', '::'] as const
  for (const [host, ...wider] of answered === '::1' ? [six, four] : [four, six]) {
    const answering = [host, ...wider]
      .map((address) => sockets.filter((socket) => socket.address === address))
      .find((found) => found.length > 0)
    if (answering?.every(isOwn)) return host
  }
  const near = new Set(['127.0.0.1', '0.0.0.0', '::', '::1'])
  return sockets.find((socket) => !near.has(socket.address) && isOwn(socket))?.address ?? null
}

/** Where a run itself answers on a port: by the user of the socket where each project has its own, else by its processes. */
export function hostOfRun(
  machine: Machine,
  run: { readonly ref: WorkloadRef; readonly leader: Leader },
  binding: PortBinding,
): string | null {
  const sockets = conflicts(machine, binding)
  const account = machine.accounts.shared === undefined ? machine.accounts.known(run.ref.project) : null
  if (account != null && sockets.every(({ uid }) => uid !== null))
    return reachableHost(sockets, ({ uid }) => uid === account.uid)
  const processes = sockets.length === 0 ? [] : family(machine.table, run.leader)
  return reachableHost(sockets, (socket) => holdingAmong(machine, processes, [socket]) !== null)
}

export function portInUse(binding: PortBinding, owner: PortOwner): EngineError {
  return new EngineError('port_in_use', `Port ${binding.hostPort} is used by ${ownerText(owner)}.`, {
    hint:
      owner.ref === null
        ? `Stop it, or choose another port for "${binding.name}".`
        : `Stop the project "${owner.ref.project}", or choose another port for "${binding.name}".`,
    retryable: true,
  })
}

function ownerText(owner: PortOwner): string {
  if (owner.pid === null) return 'another program'
  return `"${owner.program ?? 'an unknown program'}" (pid ${owner.pid})`
}
