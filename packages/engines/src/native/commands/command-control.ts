import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { type CommandRef, EngineError } from '@stackquay/engine-api'
import { errorCode } from '../errors.ts'
import { pause } from '../time.ts'

/** A pipe takes so many bytes whole or not at all, however many write to it (PIPE_BUF). */
const WHOLE = 4096
const FIRST_WAIT_MS = 2
const LONGEST_WAIT_MS = 50

/**
 * Writes to a pipe of the shim, waiting while it is full. False: no process has the other end any more. Throws `io_failed`
 * when it stayed full to the deadline.
 */
export async function sendToShim(
  path: string,
  bytes: Uint8Array,
  options: { readonly ref: CommandRef; readonly deadlineMs: number; readonly signal: AbortSignal },
): Promise<boolean> {
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENXIO' || code === 'ENOENT') return false
    throw error
  }
  try {
    const deadline = performance.now() + options.deadlineMs
    let wait = FIRST_WAIT_MS
    for (let at = 0; at < bytes.length; ) {
      const written = tryWrite(descriptor, bytes.subarray(at, at + WHOLE))
      if (written === null) return false
      at += written
      if (written > 0) wait = FIRST_WAIT_MS
      else if (performance.now() > deadline || options.signal.aborted) throw takesNothing(options.ref, at)
      else {
        await pause(wait, options.signal)
        wait = Math.min(wait * 2, LONGEST_WAIT_MS)
      }
    }
    return true
  } finally {
    closeSync(descriptor)
  }
}

function tryWrite(descriptor: number, bytes: Uint8Array): number | null {
  try {
    return writeSync(descriptor, bytes)
  } catch (error) {
    if (errorCode(error) === 'EAGAIN') return 0
    if (errorCode(error) === 'EPIPE') return null
    throw error
  }
}

function takesNothing(ref: CommandRef, taken: number): EngineError {
  return new EngineError(
    'io_failed',
    `The program of ${ref.id} does not read what is typed; it took ${taken} bytes of this.`,
    { hint: 'Wait until it reads again, or end it.', retryable: true },
  )
}
