import { ProblemError } from '@stackquay/contract'
import type { Engine } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import { servicePorts } from '../ports/held-addresses.ts'

/** Of what exists a short while: each port that something has, with who has it. */
export type HeldPorts = Map<number, string>

/** Ports for what exists a short while: held in memory, never leased, so that a crash leaves none behind. */
export interface SparePorts {
  /** Ports that nobody leased, nobody listens on, and no other holder has; they are the holder's until it gives them back. */
  take(holder: string, count: number, signal: AbortSignal): Promise<readonly number[]>
  /** What a holder that outlived the service has already. */
  keep(holder: string, ports: readonly number[]): void
  release(holder: string): void
}

export function createSparePorts({
  store,
  engine,
  config,
  held,
}: {
  readonly store: Pick<Store, 'ports'>
  readonly engine: Pick<Engine, 'portOwner'>
  readonly config: Pick<Config, 'portRange' | 'listen' | 'proxy' | 'proxyHttps'>
  /** Changed here alone; whoever else has it sees what is held. */
  readonly held: HeldPorts
}): SparePorts {
  const choose = async (holder: string, count: number, signal: AbortSignal) => {
    const leased = new Set((await store.ports.all()).map((lease) => lease.hostPort))
    const found: number[] = []
    // From the other end than leases, so that a new one seldom wants the same port at the same moment.
    for (let port = config.portRange.to; port >= config.portRange.from && found.length < count; port -= 1) {
      if (leased.has(port) || held.has(port) || servicePorts(config).includes(port)) continue
      // Taken before anybody is asked, so that two that look at once never choose the same.
      held.set(port, holder)
      if ((await engine.portOwner(port, signal).catch(giveBack(port))) === null) found.push(port)
      else held.delete(port)
    }
    return found
  }
  const giveBack = (port: number) => (error: unknown) => {
    held.delete(port)
    throw error
  }

  return {
    take: async (holder, count, signal) => {
      if (count === 0) return []
      const found = await choose(holder, count, signal)
      if (found.length === count) return found
      for (const port of found) held.delete(port)
      throw new ProblemError(
        'conflict',
        `No port of ${config.portRange.from}-${config.portRange.to} is free for the data of this run.`,
        { hint: 'Wait until other runs have ended, or give the service more ports with STACKQUAY_PORT_RANGE.' },
      )
    },
    keep: (holder, ports) => {
      for (const port of ports) held.set(port, holder)
    },
    release: (holder) => {
      for (const [port, by] of held) if (by === holder) held.delete(port)
    },
  }
}
