import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import { type CommandRef, type CommandState, type Commands, EngineError } from '@stackquay/engine-api'
import type { ShareRow } from '@stackquay/store'
import { findProvider } from '../network/providers/index.ts'
import type { ProviderEnvironment, ShareProvider, Tunnel } from '../network/providers/provider.ts'

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
  const { commands, now, onError } = deps
  const life = new AbortController()
  const held = new Map<string, { readonly leave: AbortController; readonly ended: Promise<void> }>()
  const drops = new Set<Promise<void>>()

  const follow = async (share: ShareRow, port: number, signal: AbortSignal) => {
    const provider = findProvider(share.provider)
    if (provider === null || provider.tunnel === null) return
    const ref = refOf(share)
    const blocker = await start(share, ref, provider, provider.tunnel, port, signal)
    if (blocker !== null) return deps.failed(share.id, blocker)

    let url = share.url
    // What never comes to an address is ended, and so fails like any other.
    const late = url === null ? setTimeout(() => end(ref), deps.connectWithinMs ?? connectWithinMs) : undefined
    let last = ''
    try {
      for await (const line of linesOf(commands, ref, signal)) {
        last = line
        const found = url === null ? provider.tunnel.addressIn(line, deps.environment) : null
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

  const start = async (
    share: ShareRow,
    ref: CommandRef,
    provider: ShareProvider,
    tunnel: Tunnel,
    port: number,
    signal: AbortSignal,
  ): Promise<string | null> => {
    if ((await commands.find(ref)) !== null) return null
    // Started again it would have another address than the one that people were given.
    if (share.state !== 'connecting') return 'Its program is gone. End this share and make a new one.'
    const found = await provider.probe(deps.environment)
    if (!found.available) return found.reason
    if (found.program === null) return 'It has no program.'
    const seconds = Math.ceil((Date.parse(share.expiresAt) - now().getTime()) / 1000)
    try {
      await commands.start(
        {
          ref,
          argv: [found.program, ...tunnel.args(port, deps.environment)],
          cwd: '/',
          // Nothing of the service's own environment: the program is not ours, and talks to the world.
          env: { PATH: deps.environment.path, LC_ALL: 'C' },
          data: [],
          terminal: null,
          // So it ends with its share even while the service is down.
          timeoutSeconds: Math.max(1, seconds),
          idleSeconds: null,
          stop: { signal: 'SIGTERM', deadlineSeconds: 3 },
          keepBytes: outputBytes,
        },
        { signal: AbortSignal.any([signal, AbortSignal.timeout(startWithinMs)]), reveal: noSecrets },
      )
      return null
    } catch (error) {
      if (error instanceof EngineError && !signal.aborted) return error.message
      throw error
    }
  }

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
      const ended = follow(share, port, signal)
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

function refOf({ id, project }: Pick<ShareRow, 'id' | 'project'>): CommandRef {
  return { project, id }
}

/** Whole lines of both streams, as far as they are kept, until the program has ended. */
async function* linesOf(commands: Commands, ref: CommandRef, signal: AbortSignal): AsyncGenerator<string> {
  const begun = { stdout: '', stderr: '', terminal: '' }
  const decoders = { stdout: new StringDecoder(), stderr: new StringDecoder(), terminal: new StringDecoder() }
  for await (const chunks of commands.read(ref, { after: 0, follow: true }, signal)) {
    for (const { stream, bytes } of chunks) {
      const lines = (begun[stream] + decoders[stream].write(bytes)).split(/\r\n|\n|\r/)
      begun[stream] = lines.pop()!.slice(-longestLine)
      for (const line of lines) if (cleaned(line) !== '') yield cleaned(line)
    }
  }
  for (const line of Object.values(begun)) if (cleaned(line) !== '') yield cleaned(line)
}

/** Somebody else's text, shown to people: no control characters, and not much of it. */
function cleaned(line: string): string {
  return stripVTControlCharacters(line)
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, longestLine)
}

function endOf(state: CommandState | null, url: string | null, last: string): string {
  if (state === null || state.cause === 'lost') return 'Its program ended with the machine. Make a new share.'
  if (state.cause === 'cancelled' && url === null) return `It did not tell a public address in time.${saying(last)}`
  const { code = null, signal = null } = state.exit ?? {}
  const how = signal !== null ? ` by ${signal}` : code !== null ? ` with exit code ${code}` : ''
  return `Its program ended${how}.${saying(last)}`
}

function saying(last: string): string {
  return last === '' ? '' : ` It said: ${last.slice(0, 300)}`
}

async function noSecrets(): Promise<string> {
  throw new Error('the program of a share has no secrets')
}

const outputBytes = 256 * 1024
const longestLine = 4096
const connectWithinMs = 60_000
const startWithinMs = 30_000
const endWithinMs = 15_000
