import { EngineError, type PortBinding, type PortHolder } from '@stackquay/engine-api'
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

export function portHolder(machine: Pick<Machine, 'home' | 'table'>, sockets: readonly Listener[]): PortHolder | null {
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

/** The address at which a listening socket is reached from this machine. */
export function reachableHost(sockets: readonly Listener[]): string {
  const addresses = sockets.map((socket) => socket.address)
  if (addresses.length === 0 || addresses.some((address) => ['127.0.0.1', '0.0.0.0', '::'].includes(address)))
    return '127.0.0.1'
  return addresses.includes('::1') ? '::1' : (addresses[0] ?? '127.0.0.1')
}

export function portInUse(binding: PortBinding, holder: PortHolder): EngineError {
  return new EngineError('port_in_use', `Port ${binding.hostPort} is used by ${holderText(holder)}.`, {
    hint:
      holder.ref === null
        ? `Stop it, or choose another port for "${binding.name}".`
        : `Stop the project "${holder.ref.project}", or choose another port for "${binding.name}".`,
    retryable: true,
  })
}

function holderText(holder: PortHolder): string {
  if (holder.pid === null) return 'another program'
  return `"${holder.program ?? 'an unknown program'}" (pid ${holder.pid})`
}
