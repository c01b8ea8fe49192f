import { type CommandRef, type CommandSpec, type Commands, EngineError } from '@stackquay/engine-api'
import type { ShareRow } from '@stackquay/store'
import type { ProviderEnvironment, ShareProvider, Tunnel } from '../network/providers/provider.ts'

export interface StartTunnelDeps {
  readonly commands: Pick<Commands, 'find' | 'start'>
  readonly environment: ProviderEnvironment
  readonly now: () => Date
}

/** Starts the program of a share, unless it was started before. Answers why it cannot be; null when it was. */
export async function startTunnel(
  {
    share,
    port,
    provider,
    tunnel,
  }: {
    readonly share: ShareRow
    readonly port: number
    readonly provider: Pick<ShareProvider, 'probe'>
    readonly tunnel: Tunnel
  },
  { commands, environment, now }: StartTunnelDeps,
  signal: AbortSignal,
): Promise<string | null> {
  const ref = refOf(share)
  if ((await commands.find(ref)) !== null) return null
  // Started again it would have another address than the one that people were given.
  if (share.state !== 'connecting') return 'Its program is gone. End this share and make a new one.'
  const found = await provider.probe(environment)
  if (!found.available) return found.reason
  if (found.program === null) return 'It has no program.'
  const seconds = Math.ceil((Date.parse(share.expiresAt) - now().getTime()) / 1000)
  const argv: CommandSpec['argv'] = [found.program, ...tunnel.args(port, environment)]
  try {
    await commands.start(tunnelCommand(ref, argv, environment, seconds), {
      signal: AbortSignal.any([signal, AbortSignal.timeout(startWithinMs)]),
      reveal: noSecrets,
    })
    return null
  } catch (error) {
    if (error instanceof EngineError && !signal.aborted) return error.message
    throw error
  }
}

export function refOf({ id, project }: Pick<ShareRow, 'id' | 'project'>): CommandRef {
  return { project, id }
}

function tunnelCommand(
  ref: CommandRef,
  argv: CommandSpec['argv'],
  environment: ProviderEnvironment,
  seconds: number,
): CommandSpec {
  return {
    ref,
    argv,
    cwd: '/',
    // Nothing of the service's own environment: the program is not ours, and talks to the world.
    env: { PATH: environment.path, LC_ALL: 'C' },
    data: [],
    terminal: null,
    // So it ends with its share even while the service is down.
    timeoutSeconds: Math.max(1, seconds),
    idleSeconds: null,
    stop: { signal: 'SIGTERM', deadlineSeconds: 3 },
    keepBytes: outputBytes,
  }
}

async function noSecrets(): Promise<string> {
  throw new Error('the program of a share has no secrets')
}

const outputBytes = 256 * 1024
const startWithinMs = 30_000
