import { Worker } from 'node:worker_threads'
import type { TaskRequest, WorkerAnswer } from './messages.ts'

/** Why a task was ended: it took too long, took too much memory or failed in a way nobody foresaw, or too many wait. */
export class TaskLimitError extends Error {
  override readonly name = 'TaskLimitError'
  readonly reason: 'time' | 'memory' | 'busy'

  constructor(reason: TaskLimitError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

/** A few threads for tasks of one sort, and the tasks that wait for one of them. */
export interface ThreadPool {
  run(request: TaskRequest, limits: TaskLimits): Promise<unknown>
  close(): Promise<void>
}

export interface TaskLimits {
  /** From when the thread begins with it: on a busy machine waiting for that alone may take long. */
  readonly ms: number
  readonly signal?: AbortSignal
}

export interface ThreadPoolOptions {
  readonly threads: number
  readonly memoryMb: number
  readonly maxWaiting: number
}

export function createThreadPool({ threads, memoryMb, maxWaiting }: ThreadPoolOptions): ThreadPool {
  const slots = Array.from({ length: threads }, () => createSlot(memoryMb))
  const free = [...slots]
  const waiting: ((slot: Slot) => void)[] = []

  return {
    async run(request, { ms, signal = never }) {
      signal.throwIfAborted()
      const slot = free.pop() ?? (await turn(signal))
      try {
        return await slot.run(request, ms, signal)
      } finally {
        const next = waiting.shift()
        if (next === undefined) free.push(slot)
        else next(slot)
      }
    },
    async close() {
      await Promise.all(slots.map((slot) => slot.end()))
    },
  }

  async function turn(signal: AbortSignal): Promise<Slot> {
    if (waiting.length >= maxWaiting) throw new TaskLimitError('busy', 'Too many of these are under way.')
    const { promise, resolve, reject } = Promise.withResolvers<Slot>()
    const leave = () => {
      const at = waiting.indexOf(resolve)
      // Not waiting any more: it has got a slot this very moment, and gives it back by failing with it.
      if (at < 0) return
      waiting.splice(at, 1)
      reject(signal.reason)
    }
    waiting.push(resolve)
    signal.addEventListener('abort', leave, { once: true })
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }
}

interface Slot {
  run(request: TaskRequest, ms: number, signal: AbortSignal): Promise<unknown>
  end(): Promise<void>
}

/** One thread at most, begun when it is needed, ended when a limit is passed or when it is idle. */
function createSlot(memoryMb: number): Slot {
  let worker: Worker | null = null
  let idle: NodeJS.Timeout | undefined

  const begin = (): Worker => {
    const begun = new Worker(new URL('./worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    })
    begun.unref()
    // Also for what happens while nobody asks.
    begun.on('error', () => undefined)
    begun.once('exit', () => {
      if (worker === begun) worker = null
    })
    return begun
  }
  const end = async () => {
    clearTimeout(idle)
    const ending = worker
    worker = null
    await ending?.terminate()
  }

  return {
    end,
    async run(request, ms, signal) {
      signal.throwIfAborted()
      clearTimeout(idle)
      worker ??= begin()
      try {
        const answer = await answerOf(worker, request, ms, signal)
        idle = setTimeout(() => void end(), idleMs)
        idle.unref()
        return answer
      } catch (error) {
        await end()
        throw error
      }
    },
  }
}

function answerOf(asked: Worker, request: TaskRequest, ms: number, signal: AbortSignal): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const late = () => reject(new TaskLimitError('time', `It took longer than ${ms / 1000} seconds.`))
  let timer = setTimeout(late, startMs)
  const hear = (answer: WorkerAnswer) => {
    if (answer.kind === 'done') return resolve(answer.output)
    clearTimeout(timer)
    timer = setTimeout(late, Math.max(1, ms))
  }
  const ended = () => reject(new TaskLimitError('memory', 'It took more memory than there is for it.'))
  const leave = () => reject(signal.reason)
  asked.on('message', hear)
  asked.once('exit', ended)
  signal.addEventListener('abort', leave, { once: true })
  asked.postMessage(request)
  return promise.finally(() => {
    clearTimeout(timer)
    asked.off('message', hear)
    asked.off('exit', ended)
    signal.removeEventListener('abort', leave)
  })
}

const never = new AbortController().signal
const idleMs = 10_000
/** Until the thread is there and has read its code. */
const startMs = 20_000
