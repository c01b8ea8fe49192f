import type { Problem } from '@stackquay/contract'
import { socketUrl } from './address.ts'
import { ApiError, isFinal } from './errors.ts'
import { type ClientOptions, identityHeaders } from './transport.ts'
import { backoff, pause } from './wait.ts'

/** `retrying`: the connection was lost and will be tried again, from where it was. */
export type FollowState = 'connecting' | 'live' | 'retrying' | 'ended'

export interface FollowOptions {
  readonly signal: AbortSignal
  readonly onState?: (state: FollowState) => void
}

export interface Frame {
  readonly type: string
  readonly seq: number
}
interface ErrorFrame extends Frame {
  readonly type: 'error'
  readonly problem: Problem
}

export interface Stream<F extends Frame> {
  /** Path and query of the next connection; they move on with what was received. */
  readonly path: () => string
  readonly onFrame: (frame: Exclude<F, ErrorFrame>) => void
  /**
   * Asks over plain HTTP why a socket did not open, because no WebSocket API tells the status of a refusal. Throws the
   * `ApiError`; returning means: it should have opened, try again.
   */
  readonly explain: () => Promise<unknown>
  /** A problem that ends other streams and not this one; true when it was taken care of. */
  readonly recover?: (problem: Problem) => boolean
}

/**
 * Keeps one WebSocket open until the signal aborts, and then resolves. Rejects with `ApiError` when the service says
 * that it will never open (401, 403, 404 …), and with whatever `onFrame` throws.
 */
export async function follow<F extends Frame>(
  client: ClientOptions,
  stream: Stream<F>,
  options: FollowOptions,
): Promise<void> {
  const { signal } = options
  let failures = 0
  let told: FollowState | null = null
  const onState = (state: FollowState) => {
    if (state === told) return
    told = state
    options.onState?.(state)
  }
  try {
    while (!signal.aborted) {
      onState(failures === 0 ? 'connecting' : 'retrying')
      const end = await connect(client, stream, { signal, onState })
      if (signal.aborted) break
      failures = end.useful ? 1 : failures + 1
      if (end.problem !== null) {
        if (end.problem.status === 401) client.onUnauthorized?.()
        settle(stream, new ApiError(end.problem))
      } else if (!end.opened) {
        await stream.explain().catch((error: unknown) => settle(stream, error))
      }
      onState('retrying')
      await pause(backoff(failures), signal)
    }
  } finally {
    onState('ended')
  }
}

function settle<F extends Frame>(stream: Stream<F>, error: unknown): void {
  if (!(error instanceof ApiError) || !isFinal(error.status) || stream.recover?.(error.problem)) return
  throw error
}

interface End {
  readonly opened: boolean
  /** Frames beyond the first came: the next try need not be slow. */
  readonly useful: boolean
  readonly problem: Problem | null
}

function connect<F extends Frame>(
  client: ClientOptions,
  stream: Stream<F>,
  { signal, onState }: FollowOptions,
): Promise<End> {
  return new Promise((resolve, reject) => {
    const socket = open(client, stream.path())
    let opened = false
    let useful = false
    let problem: Problem | null = null
    const finish = (act: () => void) => {
      signal.removeEventListener('abort', abort)
      act()
    }
    // Not waiting for the other side's goodbye, which may never come.
    const abort = () => {
      socket.close()
      finish(() => resolve({ opened, useful, problem }))
    }
    signal.addEventListener('abort', abort, { once: true })

    socket.addEventListener('open', () => {
      opened = true
      onState?.('live')
    })
    socket.addEventListener('message', (event: MessageEvent) => {
      if (signal.aborted) return
      try {
        const frame = JSON.parse(String(event.data)) as F
        if (isError(frame)) problem = frame.problem
        else {
          useful ||= frame.type !== 'start'
          stream.onFrame(frame as Exclude<F, ErrorFrame>)
        }
      } catch (error) {
        socket.close()
        finish(() => reject(error))
      }
    })
    // Libraries that offer the WebSocket class on Node end the process at an error nobody listens for; close follows anyway.
    socket.addEventListener('error', () => {})
    socket.addEventListener('close', () => finish(() => resolve({ opened, useful, problem })))
  })
}

function open(client: ClientOptions, path: string): WebSocket {
  const WebSocket = client.WebSocket ?? globalThis.WebSocket
  const url = socketUrl(client.baseUrl, path)
  // A browser sends its session cookie by itself and knows no second argument of this form.
  if (client.token === undefined && client.userAgent === undefined) return new WebSocket(url)
  const withHeaders = WebSocket as unknown as new (url: string, init: { headers: Record<string, string> }) => WebSocket
  return new withHeaders(url, { headers: identityHeaders(client) })
}

function isError(frame: Frame): frame is ErrorFrame {
  return frame.type === 'error'
}
