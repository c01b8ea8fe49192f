import type { CommandOutput, CommandRef, Commands } from '@stackquay/engine-api'
import type { StreamChunk, StreamSource, WireFrame } from '../streams/relay.ts'

/**
 * A terminal's output as chunks for the wire, at once and unbatched: an echo must not wait for company. Positions are byte
 * offsets; what is not kept any more is a `gap`. `isGone` tells that the terminal was forgotten while it was read.
 */
export function terminalSource(commands: Commands, ref: CommandRef, isGone: () => boolean): TerminalSource {
  /** Readings that wait at a position, so that following on does not open the journal again. */
  const waiting = new Map<number, Reading>()

  const leave = (reading: Reading) => {
    reading.stop.abort()
    // Its own end is nobody's matter any more.
    reading.output.return?.(undefined).catch(() => undefined)
  }
  const park = (position: number, reading: Reading) => {
    const other = waiting.get(position)
    if (other !== undefined) leave(other)
    waiting.set(position, reading)
    const oldest = waiting.size > mostWaiting ? waiting.keys().next().value : undefined
    if (oldest === undefined) return
    leave(waiting.get(oldest)!)
    waiting.delete(oldest)
  }
  const open = (after: number): Reading => {
    const stop = new AbortController()
    return { stop, output: commands.read(ref, { after, follow: true }, stop.signal)[Symbol.asyncIterator]() }
  }

  return {
    next: async (after, signal) => {
      const reading = waiting.get(after) ?? open(after)
      waiting.delete(after)
      const abort = () => leave(reading)
      signal.addEventListener('abort', abort, { once: true })
      try {
        const step = await reading.output.next()
        if (step.done === true) return null
        const chunk = chunkOf(step.value, after)
        park(chunk.to, reading)
        return chunk
      } catch (error) {
        if (isGone()) return null
        throw error
      } finally {
        signal.removeEventListener('abort', abort)
      }
    },
    rest: () => {
      for (const reading of waiting.values()) leave(reading)
      waiting.clear()
    },
  }
}

export interface TerminalSource extends StreamSource {
  /** Nobody reads any more: nothing stays open. */
  rest(): void
}

interface Reading {
  readonly stop: AbortController
  readonly output: AsyncIterator<readonly CommandOutput[]>
}

function chunkOf(batch: readonly CommandOutput[], after: number): StreamChunk {
  const frames: WireFrame[] = []
  let to = after
  let together: Buffer[] = []
  const flush = () => {
    if (together.length > 0)
      frames.push({ kind: 'binary', bytes: together.length === 1 ? together[0]! : Buffer.concat(together) })
    together = []
  }
  for (const output of batch) {
    if (output.from > to) {
      flush()
      const gap = { type: 'gap', seq: output.from, bytes: output.from - to }
      frames.push({ kind: 'text', bytes: Buffer.from(JSON.stringify(gap)) })
    }
    together.push(output.bytes)
    to = output.to
  }
  flush()
  return { frames, to }
}

const mostWaiting = 4
