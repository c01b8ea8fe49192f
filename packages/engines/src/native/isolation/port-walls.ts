import { iptablesWalls } from './iptables-walls.ts'
import { nftWalls, type WallWriter } from './nft-walls.ts'
import { checkedRange, type PortRule, portRules, type UidRange } from './port-rules.ts'

/**
 * Keeps programs of one project from the ports of another over loopback, by the uid of the caller. They stand in the kernel and outlive
 * this process, like the projects; a reboot takes them away, so they are set before the first project starts.
 */
export interface PortWalls {
  readonly kind: WallWriter['kind']
  /**
   * These rules in place of those before, all at once. `users`: those of projects, whom alone they concern; the whole range by default. Resolves when they, or newer ones, are in force. Rejects when they are not: what was
   * in force before may still be, and the next call writes everything anew. Calls while one is under way become one.
   */
  set(rules: readonly PortRule[], users?: readonly number[]): Promise<void>
  /** Why the rules that were set last are not in force; null when they are. */
  fault(): string | null
  /** Waits for what is under way. The walls stay. */
  close(): Promise<void>
  /** Takes the walls of this instance away. Doing so twice is a success. */
  remove(): Promise<void>
}

export interface PortWallsOptions {
  /** Twelve hexadecimal digits; every object in the kernel carries them, and nothing without them is touched. */
  readonly instance: string
  readonly uids: UidRange
  onError(error: unknown): void
  /** One way alone; otherwise nft, or iptables where that does not work. */
  readonly only?: WallWriter['kind']
}

export type OpenedPortWalls =
  | { readonly walls: PortWalls; readonly why: null }
  | { readonly walls: null; readonly why: string }

/** Found out by making something and removing it again: a program that is there may lack the kernel's part, or the right. */
export async function openPortWalls(options: PortWallsOptions): Promise<OpenedPortWalls> {
  const { instance, only } = options
  if (!/^[0-9a-f]{12}$/.test(instance)) throw new RangeError('An instance is twelve hexadecimal digits.')
  if (process.platform !== 'linux')
    return { walls: null, why: 'Only on Linux does a firewall know the user of a local caller.' }
  if (process.getuid?.() !== 0) return { walls: null, why: 'Only root can set rules of the firewall.' }
  const uids = checkedRange(options.uids)
  const writers = [nftWalls(instance, uids), iptablesWalls(instance, uids)]
  const reasons: string[] = []
  for (const writer of writers.filter(({ kind }) => only === undefined || kind === only)) {
    const reason = await attempt(writer)
    if (reason === null) return { walls: portWalls(writer, writers, options), why: null }
    reasons.push(reason)
  }
  const why = `Ports cannot be kept between projects: ${reasons.join('; ')}. Debian and Ubuntu: apt-get install -y nftables`
  return { walls: null, why }
}

async function attempt(writer: WallWriter): Promise<string | null> {
  return writer.attempt().then(
    () => null,
    (error: Error) => error.message,
  )
}

function portWalls(
  writer: WallWriter,
  all: readonly WallWriter[],
  { onError, uids }: Pick<PortWallsOptions, 'onError' | 'uids'>,
): PortWalls {
  let wanted = portRules([], uids)
  let running: Promise<void> | null = null
  let next: Promise<void> | null = null
  let fault: string | null = null
  let isAlone = false

  const write = async () => {
    try {
      await writer.write(wanted)
      fault = null
    } catch (error) {
      fault = (error as Error).message
      onError(error)
      throw error
    }
    // Rules that the other tool wrote before know nothing of today's ports and would refuse them.
    if (!isAlone) await Promise.all(all.filter((one) => one !== writer).map((one) => one.remove().catch(() => {})))
    isAlone = true
  }
  const run = (act: () => Promise<void>): Promise<void> => {
    const mine = act().finally(() => {
      if (running === mine) running = null
    })
    mine.catch(() => {})
    running = mine
    return mine
  }
  const after = async (act: () => Promise<void>) => {
    while (running !== null) await running.catch(() => {})
    return run(act)
  }
  return {
    kind: writer.kind,
    set(rules, users) {
      wanted = portRules(rules, users ?? uids)
      if (running === null) return run(write)
      next ??= after(() => {
        next = null
        return write()
      })
      next.catch(() => {})
      return next
    },
    fault: () => fault,
    async close() {
      while (running !== null || next !== null) await (next ?? running)?.catch(() => {})
    },
    remove: () =>
      after(async () => {
        await Promise.all(all.map((one) => (one === writer ? one.remove() : one.remove().catch(() => {}))))
        fault = null
      }),
  }
}
