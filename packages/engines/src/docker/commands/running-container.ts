import type { Socket } from 'node:net'
import type { StopPolicy } from '@stackquay/engine-api'
import type { Exit } from '@stackquay/engine-api/observed'
import { exitOf } from '../../native/exit-status.ts'
import { pause } from '../../native/time.ts'
import { withReason } from '../exit.ts'
import { ask, open, RefusedRequest, takeOver } from '../wire/request.ts'
import type { Target } from '../wire/target.ts'

/** A container that was made for one program, which has started. */
export interface RunningContainer {
  /** Everything it prints, in frames or, with a terminal, as it is; what is written goes to its standard input. */
  readonly stream: Socket
  readonly exited: Promise<Omit<Exit, 'at'>>
  /** Sends a signal to the program. One that has ended is nothing to complain about. */
  kill(signal: string): Promise<void>
  /** Resolves when it has ended; everything in it is gone then. */
  end(policy: StopPolicy): Promise<void>
}

const AGAIN_MS = 500
/** How often a daemon that went away is asked whether it is back. */
const AWAY_MS = 1000

/** Listens first, then starts: not a byte and no end can be missed. Throws what Docker says when it cannot start. */
export async function startContainer(
  target: Target,
  id: string,
  options: { readonly stdin: boolean; readonly signal?: AbortSignal },
): Promise<RunningContainer> {
  const path = `/containers/${id}`
  const { signal } = options
  const asked = signal === undefined ? {} : { signal }
  const attach = `${path}/attach?stream=1&stdout=1&stderr=1${options.stdin ? '&stdin=1' : ''}`
  const [stream, waiting] = await both(
    takeOver(target, attach, asked),
    open(target, 'POST', `${path}/wait?condition=next-exit`, asked),
  )
  // Its body comes when the container ends. Read by asking again, so that one way of learning the end is enough.
  const ended = closed(waiting)
  try {
    await ask(target, 'POST', `${path}/start`, asked)
  } catch (error) {
    stream.destroy()
    waiting.destroy()
    throw error
  }
  const killing = new AbortController()
  const exited = ended.then(() => learnExit(target, path, killing.signal))
  const kill = async (name: string) => {
    if (name === 'SIGKILL') killing.abort()
    try {
      await ask(target, 'POST', `${path}/kill?signal=${name}`)
    } catch (error) {
      // 409: it does not run. 404: it was removed.
      if (!(error instanceof RefusedRequest) || (error.statusCode !== 409 && error.statusCode !== 404)) throw error
    }
  }
  return {
    stream,
    exited,
    kill,
    async end(policy) {
      const over = new AbortController()
      const gone = exited.then(() => over.abort())
      await kill(policy.signal).catch(() => {})
      await Promise.race([gone, pause(policy.deadlineSeconds * 1000, over.signal)])
      while (!over.signal.aborted) {
        await kill('SIGKILL').catch(() => {})
        await Promise.race([gone, pause(AGAIN_MS, over.signal)])
      }
    },
  }
}

/** An open connection is closed when the other one fails. */
async function both(first: Promise<Socket>, second: Promise<Socket>): Promise<[Socket, Socket]> {
  const [a, b] = await Promise.allSettled([first, second])
  if (a.status === 'fulfilled' && b.status === 'fulfilled') return [a.value, b.value]
  for (const one of [a, b]) if (one.status === 'fulfilled') one.value.destroy()
  throw a.status === 'rejected' ? a.reason : (b as PromiseRejectedResult).reason
}

/** Its first byte says the same as its end: there is something to ask for. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.destroy()
      resolve()
    }
    socket.on('data', done).on('end', done).on('close', done)
  })
}

interface Inspected {
  readonly State: {
    readonly Running: boolean
    readonly Status: string
    readonly ExitCode: number
    readonly OOMKilled: boolean
  }
}

/**
 * Asks until it is known. A daemon that restarts does not answer before it is back; a container that is gone was removed by force. An end
 * that we asked for (`killing`) needs no other reason.
 */
async function learnExit(target: Target, path: string, killing: AbortSignal): Promise<Omit<Exit, 'at'>> {
  const inspect = async () => (await ask(target, 'GET', `${path}/json`)) as Inspected
  for (;;) {
    try {
      const found = await inspect()
      if (!found.State.Running && found.State.Status !== 'removing') {
        const { State } = await withReason(found, inspect, killing)
        const { code, signal } = exitOf(State.ExitCode, new Date())
        return State.OOMKilled ? { code, signal, outOfMemory: true } : { code, signal }
      }
      await closed(await open(target, 'POST', `${path}/wait?condition=not-running`))
    } catch (error) {
      if (error instanceof RefusedRequest && error.statusCode === 404) return { code: null, signal: 'SIGKILL' }
      await pause(AWAY_MS)
    }
  }
}
