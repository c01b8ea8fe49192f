import type { CommandRef, Commands } from '@stackquay/engine-api'
import type { ShareRow } from '@stackquay/store'
import { findProvider } from '../network/providers/index.ts'
import type { ProviderEnvironment } from '../network/providers/provider.ts'
import { refOf, startTunnel } from './start-tunnel.ts'
import { endOf, linesOf } from './tunnel-output.ts'

/**
 * The programs of providers. The engine holds them, so they outlive the service; here their output is followed, to learn the
 * public address and how they end.
 */
export interface ShareTunnels {
  /** Starts the program of a share, unless it was started before, and follows it. Holding what is held changes nothing. */
  hold(share: ShareRow, port: number): void
  /** Ends the program and forgets its output. Dropping what is not there is a success. */
  drop(share: Pick<ShareRow, 'id' | 'project'>): Promise<void>
  /** Drops what no share is known of: a crash between two steps left it. */
  sweep(isKnown: (id: string) => boolean): Promise<void>
  /** Programs go on. */
  close(): Promise<void>
}

export interface ShareTunnelsDeps {
  readonly commands: Commands
  readonly environment: ProviderEnvironment
  readonly now: () => Date
  opened(id: string, url: string): Promise<void>
  failed(id: string, detail: string): Promise<void>
  onError(error: unknown, what: string): void
  /** How long it may take until the address is known. */
  readonly connectWithinMs?: number
}

export function createShareTunnels(deps: ShareTunnelsDeps): ShareTunnels {
  const { commands, onError } = deps
  const life = new AbortController()
  const held = new Map<string, { readonly leave: AbortController; readonly ended: Promise<void> }>()
  const drops = new Set<Promise<void>>()

  const end = (ref: CommandRef) => {
    commands
      .end(ref, AbortSignal.any([life.signal, AbortSignal.timeout(endWithinMs)]))
      .catch((error: unknown) => onError(error, 'ending the program of a share'))
  }

  const dropNow = async (ref: CommandRef) => {
    const mine = held.get(ref.id)
    mine?.leave.abort()
    await mine?.ended
    await commands.end(ref, AbortSignal.timeout(endWithinMs))
    await commands.remove(ref)
  }
  const drop: ShareTunnels['drop'] = (share) => {
    const dropping = dropNow(refOf(share))
      .catch((error: unknown) => onError(error, 'ending the program of a share'))
      .finally(() => drops.delete(dropping))
    drops.add(dropping)
    return dropping
  }

  return {
    drop,
    hold: (share, port) => {
      if (held.has(share.id) || share.state === 'failed') return
      const leave = new AbortController()
      const signal = AbortSignal.any([leave.signal, life.signal])
      const endLate = () => end(refOf(share))
      const ended = followTunnel({ share, port, endLate }, deps, signal)
        .catch(async (error: unknown) => {
          if (signal.aborted) return
          onError(error, 'following the program of a share')
          await deps.failed(share.id, 'Its program could not be followed. End this share and make a new one.')
        })
        .catch((error: unknown) => onError(error, 'writing down the end of a share’s program'))
        .finally(() => held.delete(share.id))
      held.set(share.id, { leave, ended })
    },
    sweep: async (isKnown) => {
      for (const ref of await commands.list(life.signal))
        if (ref.id.startsWith('shr_') && !isKnown(ref.id)) await drop(ref)
    },
    close: async () => {
      life.abort()
      await Promise.allSettled([...[...held.values()].map(({ ended }) => ended), ...drops])
    },
  }
}

/** Starts the program when it is not there, learns its public address, and tells how it ended, unless `signal` aborts first. */
async function followTunnel(
  { share, port, endLate }: { readonly share: ShareRow; readonly port: number; endLate(): void },
  deps: ShareTunnelsDeps,
  signal: AbortSignal,
): Promise<void> {
  const { commands } = deps
  const provider = findProvider(share.provider)
  if (provider === null || provider.tunnel === null) return
  const { tunnel } = provider
  const blocker = await startTunnel({ share, port, provider, tunnel }, deps, signal)
  if (blocker !== null) return deps.failed(share.id, blocker)

  const ref = refOf(share)
  let url = share.url
  // What never comes to an address is ended, and so fails like any other.
  const late = url === null ? setTimeout(endLate, deps.connectWithinMs ?? connectWithinMs) : undefined
  let last = ''
  try {
    for await (const line of linesOf(commands.read(ref, { after: 0, follow: true }, signal))) {
      last = line
      const found = url === null ? tunnel.addressIn(line, deps.environment) : null
      if (found === null) continue
      url = found
      clearTimeout(late)
      await deps.opened(share.id, found)
    }
  } finally {
    clearTimeout(late)
  }
  if (signal.aborted) return
  await deps.failed(share.id, endOf(await commands.find(ref), url, last))
}

const connectWithinMs = 60_000
const endWithinMs = 15_000
