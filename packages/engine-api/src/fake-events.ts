import { change } from './fake-waits.ts'
import type { EngineEvent } from './observed.ts'

/** The events of one engine, and a wake for everything that waits on the machine. */
export interface FakeEvents {
  /** Called after each event and each line. */
  readonly listeners: Set<() => void>
  wake(): void
  emit(event: EngineEvent): void
  /** Events from now on, until the signal aborts. */
  watch(signal: AbortSignal): AsyncIterable<EngineEvent>
}

export function createFakeEvents(): FakeEvents {
  const listeners = new Set<() => void>()
  const events: EngineEvent[] = []
  const wake = () => {
    for (const listener of [...listeners]) listener()
  }
  return {
    listeners,
    wake,
    emit(event) {
      events.push(event)
      wake()
    },
    watch: (signal) => readFrom(events, events.length, listeners, signal),
  }
}

async function* readFrom(
  events: readonly EngineEvent[],
  start: number,
  listeners: Set<() => void>,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent> {
  let at = start
  while (!signal.aborted) {
    const event = events[at]
    if (event === undefined) await change(listeners, signal)
    else {
      at += 1
      yield event
    }
  }
}
