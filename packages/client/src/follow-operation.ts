import type { EventRecord, OperationRecord } from '@stackquay/contract'
import type { Client } from './client.ts'
import { ApiError, ConnectionError } from './errors.ts'
import type { FollowState } from './follow.ts'
import { backoff, pause } from './wait.ts'

export interface FollowOperationOptions {
  readonly signal: AbortSignal
  /** Every newer state, the last one included. */
  readonly onChange?: (operation: OperationRecord) => void
  /** Output of a step as it comes. */
  readonly onOutput?: (step: string, lines: readonly string[]) => void
  /** The service stopped or began again to answer. The operation itself outlives the service's restart. */
  readonly onReachable?: (reachable: boolean) => void
  /** How long the service may be away before this gives up, in milliseconds. */
  readonly patience?: number
}

/**
 * Resolves with the operation as it is at its end, whatever end that is. A request that waits decides when that was;
 * events only make the way there visible, so nothing breaks when they are late or missing.
 */
export async function followOperation(
  client: Client,
  id: string,
  options: FollowOperationOptions,
): Promise<OperationRecord> {
  const ended = new AbortController()
  const signal = AbortSignal.any([options.signal, ended.signal])
  const watch = watchProgress(client, id, options, signal)
  try {
    const last = await waitForEnd(client, id, options)
    ended.abort()
    options.onChange?.(last)
    return last
  } finally {
    ended.abort()
    await watch
  }
}

async function waitForEnd(client: Client, id: string, options: FollowOperationOptions): Promise<OperationRecord> {
  const patience = options.patience ?? 60_000
  let awaySince: number | null = null
  let failures = 0
  for (;;) {
    try {
      // Short enough for reverse proxies that cut a silent request after 30 or 60 seconds.
      const operation = await client.call(
        'getOperation',
        { params: { op: id }, query: { wait: 25 } },
        { signal: options.signal },
      )
      if (awaySince !== null) options.onReachable?.(true)
      awaySince = null
      failures = 0
      if (hasEnded(operation)) return operation
    } catch (error) {
      if (!isAway(error)) throw error
      if (awaySince === null) options.onReachable?.(false)
      awaySince ??= performance.now()
      if (performance.now() - awaySince > patience) throw error
      await pause(Math.min(backoff(++failures), 2000), options.signal)
      options.signal.throwIfAborted()
    }
  }
}

async function watchProgress(
  client: Client,
  id: string,
  options: FollowOperationOptions,
  signal: AbortSignal,
): Promise<void> {
  let reading = false
  let again = false
  const reread = async () => {
    if (reading) {
      again = true
      return
    }
    reading = true
    do {
      again = false
      try {
        const operation = await client.call('getOperation', { params: { op: id } }, { signal })
        if (!signal.aborted) options.onChange?.(operation)
      } catch {
        // The waiting request meets the same trouble and decides what it means.
      }
      await pause(100, signal)
    } while (again && !signal.aborted)
    reading = false
  }
  const onEvent = (event: EventRecord) => {
    if (event.type === 'operation.output' && event.data.operation === id) {
      const { step, lines } = event.data
      if (typeof step === 'string' && Array.isArray(lines)) options.onOutput?.(step, lines.map(String))
    } else if (event.type === 'operation.changed' && event.data.id === id) {
      void reread()
    }
  }
  let live = false
  const onState = (state: FollowState) => {
    live = state === 'live'
    if (live) void reread()
  }
  void reread()
  // Where events do not come (a reverse proxy without WebSockets, for one) a look every second has to do.
  const events = client.followEvents({}, { signal, onEvent, onState }).catch(() => undefined)
  while (!signal.aborted) {
    await pause(1000, signal)
    if (!live) void reread()
  }
  await events
}

function hasEnded(operation: OperationRecord): boolean {
  return operation.state !== 'queued' && operation.state !== 'running'
}

function isAway(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && error.status >= 502 && error.status <= 504)
}
