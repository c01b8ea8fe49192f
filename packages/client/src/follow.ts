import type { Problem } from '@stackquay/contract'
import { connect, type Frame, type Receiver } from './connection.ts'
import { ApiError, isFinal } from './errors.ts'
import type { ClientOptions } from './transport.ts'
import { backoff, pause, soon } from './wait.ts'

/** `retrying`: the connection was lost and will be tried again, from where it was. */
export type FollowState = 'connecting' | 'live' | 'retrying' | 'ended'

export interface FollowOptions {
  readonly signal: AbortSignal
  readonly onState?: (state: FollowState) => void
}

export interface Stream<F extends Frame> extends Receiver<F> {
  /** Path and query of the next connection; they move on with what was received. */
  readonly path: () => string
  /**
   * Asks over plain HTTP why a socket did not open, because no WebSocket API tells the status of a refusal. Throws the
   * `ApiError`; returning means: it should have opened, try again.
   */
  readonly explain: (signal: AbortSignal) => Promise<unknown>
  /** A problem that ends other streams and not this one; true when it was taken care of. */
  readonly recover?: (problem: Problem) => boolean
}

/**
 * Keeps one WebSocket open until the stream has ended or the signal aborts, and then resolves. Rejects with `ApiError`
 * when the service says that it will never open (401, 403, 404 …), and with whatever `onFrame` throws. A receiver that
 * is slow is waited for; when that takes long, the connection is given up and opened again for what comes next.
 */
export async function follow<F extends Frame>(
  client: ClientOptions,
  stream: Stream<F>,
  options: FollowOptions,
): Promise<void> {
  const { signal } = options
  let failures = 0
  let reported: FollowState | null = null
  const onState = (state: FollowState) => {
    if (state === reported) return
    reported = state
    options.onState?.(state)
  }
  const onOpen = () => onState('live')
  try {
    while (!signal.aborted) {
      onState(failures === 0 ? 'connecting' : 'retrying')
      const end = await connect(client, stream.path(), stream, { signal, onOpen, keepBytes, resumable: true })
      if (signal.aborted || stream.hasEnded?.()) break
      if (end.held) continue
      failures = end.useful ? 1 : failures + 1
      if (end.problem !== null) {
        if (end.problem.status === 401) client.onUnauthorized?.()
        settle(stream, new ApiError(end.problem))
      } else if (!end.opened) {
        await stream.explain(soon(client, signal)).catch((error: unknown) => settle(stream, error))
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

const keepBytes = 4 * 1024 * 1024
