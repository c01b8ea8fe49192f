import type { Readable } from 'node:stream'

/** How long nothing may come of a body that is still to come. */
const silentMs = 60_000
/** Of what nobody reads any more; beyond it the connection ends. */
const mostDrained = 64 << 20

/** A body as it arrives: no faster than it is read, and broken off when nothing comes any more. Throws when the sender leaves. */
export async function* streamOf(payload: Readable): AsyncGenerator<Uint8Array> {
  const timer = setTimeout(() => payload.destroy(new Error('Nothing came of the body for a minute.')), silentMs)
  try {
    // Destroying it would leave its rest in the connection, on which the next request would wait for ever.
    for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
      // While it is being worked on, nobody waits for the sender.
      timer.refresh()
      yield chunk as Uint8Array
      timer.refresh()
    }
  } finally {
    if (payload.readableEnded || payload.destroyed) clearTimeout(timer)
    else drain(payload, timer)
  }
}

/** A sender that was answered early may send on before it looks. */
function drain(payload: Readable, timer: NodeJS.Timeout): void {
  let drained = 0
  payload.on('error', () => undefined)
  payload.once('close', () => clearTimeout(timer))
  payload.on('data', (chunk: Uint8Array) => {
    timer.refresh()
    drained += chunk.length
    if (drained > mostDrained) payload.destroy()
  })
}
