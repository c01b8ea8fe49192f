import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { TerminalSize } from '@stackquay/engine-api/commands'
import { atMost, type Keep, type ShimProgram, type StartProgram } from '../../native/commands/shim-program.ts'
import { pause } from '../../native/time.ts'
import { createFrameReader } from '../wire/frames.ts'
import { ask, RefusedRequest } from '../wire/request.ts'
import type { Target } from '../wire/target.ts'
import { startContainer } from './running-container.ts'

/** What the shim of a container gets. The container was made before, so that nothing here is secret but the daemon's key. */
export interface ShimContainer {
  readonly target: Target
  /** Id. */
  readonly container: string
}

/** The output of a container is there at once when it has ended; a process that got away could keep its output open. */
const DRAIN_MS = 5000
const REMOVE_TRIES = 20
const REMOVE_AGAIN_MS = 500

/** The program of a command, as a container; loaded by its shim. */
export const startProgram: StartProgram = async (spec, keep) => {
  const { target, container } = spec.elsewhere as ShimContainer
  const path = `/containers/${container}`
  const hasTerminal = spec.terminal !== null
  const running = await startContainer(target, container, { stdin: hasTerminal })
  const { stream } = running
  const closed = read(stream, hasTerminal, keep)
  const resize = createResizer(target, path)
  if (spec.terminal !== null) resize(spec.terminal)
  return {
    pid: null,
    exited: running.exited,
    drained: () => atMost(closed, DRAIN_MS),
    write: (bytes) => write(stream, bytes),
    resize,
    // Its end begins with that: `end` below.
    hangUp() {},
    async end(policy) {
      if (hasTerminal) await running.kill('SIGHUP').catch(() => {})
      await running.end(policy)
    },
    remove: () => remove(target, path),
  } satisfies ShimProgram
}

function read(stream: Socket, hasTerminal: boolean, keep: Keep): Promise<void> {
  const frames = createFrameReader()
  stream.on('data', (bytes: Buffer) => {
    if (hasTerminal) keep('terminal', bytes)
    else for (const chunk of frames(bytes)) keep(chunk.stream, chunk.bytes)
  })
  return new Promise((resolve) => {
    stream.once('end', resolve).once('close', resolve)
  })
}

async function write(stream: Socket, bytes: Buffer): Promise<void> {
  if (!stream.writable || stream.write(bytes)) return
  const found = new AbortController()
  const { signal } = found
  await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })]).catch(() => {})
  found.abort()
}

/** One after the other, and of those that wait only the last. */
function createResizer(target: Target, path: string): (size: TerminalSize) => void {
  let wanted: TerminalSize | null = null
  let working = false
  const work = async () => {
    working = true
    for (let size = wanted; size !== null; size = wanted) {
      wanted = null
      await ask(target, 'POST', `${path}/resize?h=${size.rows}&w=${size.cols}`).catch(() => {})
    }
    working = false
  }
  return (size) => {
    wanted = size
    if (!working) void work()
  }
}

/** A daemon that is away for longer finds it removed when the service looks next. */
async function remove(target: Target, path: string): Promise<void> {
  for (let tries = 0; tries < REMOVE_TRIES; tries++) {
    try {
      await ask(target, 'DELETE', `${path}?force=1`)
      return
    } catch (error) {
      if (error instanceof RefusedRequest && error.statusCode === 404) return
      await pause(REMOVE_AGAIN_MS)
    }
  }
}
