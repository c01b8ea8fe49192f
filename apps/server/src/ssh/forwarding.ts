import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { databaseTypeOf } from '@stackquay/catalog'
import { forwardOf, type ReachablePort, serviceTypesOf } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { Accounts } from '@stackquay/engines'
import type { Known, Model } from '../projects/model.ts'
import { ownListener } from './own-listener.ts'

/** Connections that go on to ports of a project, and to nothing else. Nothing was read of them. */
export interface Forwarding {
  /** A connection, or why there is none. */
  to(project: string, host: string, port: number, signal: AbortSignal): Promise<Socket | { readonly refused: string }>
}

export interface ForwardingDeps {
  readonly projects: Pick<Model, 'find'>
  readonly engine: Pick<Engine, 'address'>
  readonly accounts: Pick<Accounts, 'known'>
}

const connectingMs = 10_000

export function createForwarding({ projects, engine, accounts }: ForwardingDeps): Forwarding {
  return {
    async to(project, host, port, signal) {
      const known = projects.find(project)
      if (known === null) return { refused: 'The project is gone.' }
      const wanted = forwardOf(host, port, portsOf(known))
      if (wanted.kind === 'refused') return { refused: wanted.why }
      if (wanted.kind === 'loopback') return ownProgram(accounts, project, wanted.port, signal)
      const address = await engine.address({ project, workload: wanted.workload }, wanted.port)
      if (address === null) return { refused: `${wanted.workload} does not run. Start it first.` }
      return connectTo(address.host, address.port, signal)
    },
  }
}

/**
 * What listens on the loopback is the project’s when its user has the socket: before and after, because a port can change hands between
 * the two. Where projects share a user nobody can tell.
 */
async function ownProgram(
  accounts: Pick<Accounts, 'known'>,
  project: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket | { readonly refused: string }> {
  const account = accounts.known(project) ?? null
  const none = { refused: `No program of the project listens on ${port} of this machine.` }
  if (account === null || account.isShared === true || account.isOwner === true) return none
  const host = await ownListener(port, account.uid)
  if (host === null) return none
  const socket = await connectTo(host, port, signal)
  if ('refused' in socket || (await ownListener(port, account.uid)) === host) return socket
  socket.destroy()
  return none
}

async function connectTo(
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket | { readonly refused: string }> {
  const socket = connect({ host, port, noDelay: true })
  socket.pause()
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(connectingMs)]) })
    return socket
  } catch {
    socket.destroy()
    return { refused: `Nothing answers on ${port}.` }
  }
}

function portsOf({ row, resolved }: Known): readonly ReachablePort[] {
  const named = new Map<string, { readonly aliases: readonly string[]; readonly usual: (port: string) => number[] }>()
  for (const type of serviceTypesOf(row.spec))
    named.set(type.name, {
      aliases: [],
      usual: (name) => type.ports.filter((port) => port.name === name).map(({ port }) => port),
    })
  for (const workload of resolved.workloads) {
    const found = databaseOf(row.spec.databases, workload.ref.workload)
    if (found !== null) named.set(workload.ref.workload, { aliases: found.aliases, usual: () => [found.port] })
  }
  return resolved.workloads.flatMap(({ ref: { workload }, ports }) =>
    ports.map(({ name, port, hostPort }) => {
      const known = named.get(workload)
      const numbers = [...new Set([hostPort, port, ...(known?.usual(name) ?? [])])]
      return { workload, port: name, aliases: known?.aliases ?? [], numbers }
    }),
  )
}

/** A database is also called by its own name and by that of its type. */
function databaseOf(databases: Known['row']['spec']['databases'], workload: string) {
  for (const [name, { type }] of Object.entries(databases)) {
    const kind = databaseTypeOf(type)
    if (kind !== undefined && workload === `${kind.name}-${name}`)
      return { port: kind.port, aliases: [name, kind.name, ...kind.aliases] }
  }
  return null
}
