import type Dockerode from 'dockerode'
import { pause } from '../native/time.ts'
import type { Daemon } from './daemon.ts'
import { isUnreachable, noAnswer, unavailable } from './errors.ts'
import { labelled, PROJECT, ROLE } from './labels.ts'
import { send } from './wire/request.ts'
import { targetOf } from './wire/target.ts'

export interface ContainerListener {
  /** A container ended, or is gone. */
  ended(id: string): Promise<void>
  /** One of that project is gone, whatever it was for. */
  removed(project: string): Promise<void>
  /** From now on nothing is missed; what was before must be looked for. */
  connected(): Promise<void>
  /** Docker does not answer. Reported once, until it does again. */
  lost(reason: string): void
  /** It does again, and what was missed has been looked for. */
  found(): void
}

const FIRST_WAIT_MS = 100
/** An instance is right again soon after Docker is: asking costs next to nothing. */
const LONGEST_WAIT_MS = 2000
/** How often a silent daemon is asked whether it still could, and how long it may take to answer. */
const PING_EVERY_MS = 10_000
const PING_PATIENCE_MS = 10_000

/** Follows Docker's events of workloads, over and over again when it goes away. Resolves when the signal aborts. */
export async function followEvents(daemon: Daemon, listener: ContainerListener, signal: AbortSignal): Promise<void> {
  let wait = FIRST_WAIT_MS
  let isLost = false
  const onConnected = async () => {
    await listener.connected()
    wait = FIRST_WAIT_MS
    if (isLost) listener.found()
    isLost = false
  }
  while (!signal.aborted) {
    try {
      await followOnce(daemon, { ...listener, connected: onConnected }, signal)
    } catch (error) {
      // It is gone, or not there yet; nothing is concluded from that but this.
      if (!isLost && !signal.aborted && isUnreachable(error)) {
        isLost = true
        listener.lost(unavailable(error).message)
      }
    }
    await pause(wait, signal)
    wait = Math.min(wait * 2, LONGEST_WAIT_MS)
  }
}

/** Ends with the stream. Throws what there is to say about a daemon that did not give one, or stopped answering beside it. */
async function followOnce(daemon: Daemon, listener: ContainerListener, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const within = AbortSignal.any([signal, over.signal])
  const silent = watchSilence(daemon, over)
  try {
    const stream = await daemon.docker.getEvents({
      filters: { ...labelled(daemon), type: ['container'], event: ['die', 'destroy'] },
      abortSignal: within,
    })
    await listener.connected()
    for await (const { id, action, labels } of eventsOf(stream)) {
      if (labels[ROLE] === 'workload') await listener.ended(id)
      if (action === 'destroy' && labels[PROJECT] !== undefined) await listener.removed(labels[PROJECT])
    }
  } catch (error) {
    throw over.signal.aborted ? over.signal.reason : error
  } finally {
    over.abort()
    await silent
  }
}

/** A machine that vanished from the network, or a daemon that hangs, closes no connection. */
async function watchSilence({ docker }: Daemon, over: AbortController): Promise<void> {
  const { signal } = over
  await pause(PING_EVERY_MS, signal)
  while (!signal.aborted) {
    const within = AbortSignal.any([signal, AbortSignal.timeout(PING_PATIENCE_MS)])
    await ping(docker, within).catch((error: unknown) => {
      over.abort(within.aborted ? noAnswer(PING_PATIENCE_MS) : error)
    })
    await pause(PING_EVERY_MS, signal)
  }
}

async function ping(docker: Dockerode, signal: AbortSignal): Promise<void> {
  await send(await targetOf(docker), 'GET', '/_ping', { signal })
}

interface ContainerEvent {
  readonly id: string
  readonly action: string
  readonly labels: Readonly<Record<string, string | undefined>>
}

async function* eventsOf(stream: NodeJS.ReadableStream): AsyncGenerator<ContainerEvent> {
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const { Action, Actor } = JSON.parse(line) as {
        Action?: string
        Actor?: { ID?: string; Attributes?: Record<string, string> }
      }
      if (Actor?.ID !== undefined) yield { id: Actor.ID, action: Action ?? '', labels: Actor.Attributes ?? {} }
    }
  }
}
