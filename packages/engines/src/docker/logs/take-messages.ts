import type { Socket } from 'node:net'
import type { MessageReader, Taken } from './message-reader.ts'

/** So much is stored at once; while that lasts, Docker waits. */
const MOST = 512 * 1024
/** Messages that come close together are stored together. */
const QUIET_MS = 5

/**
 * Stores what comes, in big chunks, one after the other. Resolves when the connection has ended and everything is stored;
 * rejects with what could not be read or stored.
 */
export function takeMessages(
  socket: Socket,
  reader: MessageReader,
  store: (taken: Taken) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let due: NodeJS.Timeout | undefined
  let storing = false
  let ended = false
  const stop = () => socket.destroy()
  const fail = (error: unknown) => {
    ended = true
    reject(error)
    socket.destroy()
  }
  const storeNow = () => {
    clearTimeout(due)
    due = undefined
    if (storing) return
    if (reader.size() === 0) {
      if (ended) resolve()
      return
    }
    storing = true
    store(reader.take()).then(() => {
      storing = false
      if (ended || reader.size() >= MOST) storeNow()
      else if (reader.size() > 0) soon()
      if (reader.size() < MOST) socket.resume()
    }, fail)
  }
  const soon = () => {
    due ??= setTimeout(storeNow, QUIET_MS)
  }
  const end = () => {
    ended = true
    storeNow()
  }
  socket.on('data', (bytes: Buffer) => {
    try {
      reader.push(bytes)
    } catch (error) {
      return fail(error)
    }
    if (reader.size() < MOST) return soon()
    socket.pause()
    storeNow()
  })
  socket.once('end', end).once('close', end)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  return promise.finally(() => {
    clearTimeout(due)
    signal.removeEventListener('abort', stop)
    socket.destroy()
  })
}
