import type { Readable } from 'node:stream'

/** How long nothing may come of a body that is still to come. */
const silentMs = 60_000

/** A body as it arrives: no faster than it is read, and broken off when nothing comes any more. Throws when the sender leaves. */
export async function* streamOf(payload: Readable): AsyncGenerator<Uint8Array> {
  const timer = setTimeout(() => payload.destroy(new Error('Nothing came of the body for a minute.')), silentMs)
  try {
    for await (const chunk of payload) {
      // While it is being worked on, nobody waits for the sender.
      timer.refresh()
      yield chunk as Uint8Array
      timer.refresh()
    }
  } finally {
    clearTimeout(timer)
  }
}
