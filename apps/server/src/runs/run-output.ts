import type { RunFrame } from '@stackquay/contract'
import type { CommandOutput, CommandRef, Commands } from '@stackquay/engine-api'
import { type StreamChunk, type StreamSource, textFrame, type WireFrame } from '../streams/relay.ts'

/** A frame holds so much text, and what is printed is gathered for so long before it is sent; whichever is first. */
const frameBytes = 64 * 1024
const gatherMs = 8
/** A reading that nobody goes on with is closed. */
const idleMs = 2_000

/**
 * The output of a command as frames. Positions are the engine's, so that a reader goes on wherever a frame ended. Finding a
 * position costs a look through much of what is kept: so a reading is kept open for whoever goes on where it stands.
 */
export function runOutput(commands: Pick<Commands, 'read'>, ref: CommandRef): StreamSource {
  const kept = new Map<number, Reading>()

  const take = (after: number): Reading => {
    const reading = kept.get(after)
    if (reading === undefined) return openReading(commands, ref, after)
    kept.delete(after)
    clearTimeout(reading.idle)
    return reading
  }
  const keep = (position: number, reading: Reading) => {
    const other = kept.get(position)
    if (other !== undefined) {
      clearTimeout(other.idle)
      closeReading(other)
    }
    kept.set(position, reading)
    reading.idle = setTimeout(() => {
      kept.delete(position)
      closeReading(reading)
    }, idleMs).unref()
  }

  return {
    next: async (after, signal) => {
      const reading = take(after)
      try {
        const chunks = await gather(reading, signal)
        const last = chunks.at(-1)
        if (last === undefined) closeReading(reading)
        else keep(last.to, reading)
        return last === undefined ? null : ({ frames: framesOf(chunks, after), to: last.to } satisfies StreamChunk)
      } catch (error) {
        closeReading(reading)
        throw error
      }
    },
  }
}

interface Reading {
  readonly batches: AsyncIterator<readonly CommandOutput[]>
  readonly stop: AbortController
  /** What was asked for and has not come yet. */
  next: Promise<IteratorResult<readonly CommandOutput[]>> | null
  idle: NodeJS.Timeout | undefined
}

function openReading(commands: Pick<Commands, 'read'>, ref: CommandRef, after: number): Reading {
  const stop = new AbortController()
  const batches = commands.read(ref, { after, follow: true }, stop.signal)[Symbol.asyncIterator]()
  return { batches, stop, next: null, idle: undefined }
}

function closeReading({ batches, stop }: Reading): void {
  stop.abort()
  // Not waited for: it ends by its signal.
  batches.return?.().catch(() => undefined)
}

/** Waits for something, then takes what comes right after it. Empty when it has ended and all was read. */
async function gather(reading: Reading, signal: AbortSignal): Promise<readonly CommandOutput[]> {
  signal.throwIfAborted()
  const chunks: CommandOutput[] = []
  const gone = Promise.withResolvers<null>()
  const leave = () => gone.resolve(null)
  signal.addEventListener('abort', leave, { once: true })
  let patience: NodeJS.Timeout | undefined
  let bytes = 0
  try {
    while (bytes < frameBytes) {
      reading.next ??= reading.batches.next()
      // Left behind, it is asked again by whoever goes on.
      reading.next.catch(() => undefined)
      const batch = await Promise.race([reading.next, gone.promise])
      if (batch === null) break
      reading.next = null
      if (batch.done === true) break
      patience ??= setTimeout(leave, gatherMs)
      chunks.push(...batch.value)
      bytes += batch.value.reduce((sum, chunk) => sum + chunk.bytes.length, 0)
    }
  } finally {
    clearTimeout(patience)
    signal.removeEventListener('abort', leave)
  }
  signal.throwIfAborted()
  return chunks
}

/** Neighbours of one stream and one moment share a frame. */
export function framesOf(chunks: readonly CommandOutput[], after: number): readonly WireFrame[] {
  const frames: WireFrame[] = []
  let position = after
  let open: CommandOutput[] = []
  let size = 0
  const close = () => {
    const [first] = open
    if (first === undefined) return
    const text = Buffer.concat(open.map((chunk) => chunk.bytes)).toString('utf8')
    const stream = first.stream === 'stderr' ? 'stderr' : 'stdout'
    frames.push(frameOf({ type: 'output', seq: position, stream, time: first.time, text }))
    open = []
    size = 0
  }
  for (const chunk of chunks) {
    const [first] = open
    const belongs =
      first !== undefined &&
      first.stream === chunk.stream &&
      chunk.from === position &&
      chunk.time - first.time <= gatherMs &&
      size + chunk.bytes.length <= frameBytes
    if (!belongs) close()
    if (chunk.from > position) frames.push(frameOf({ type: 'gap', seq: chunk.from, bytes: chunk.from - position }))
    open.push(chunk)
    size += chunk.bytes.length
    position = chunk.to
  }
  close()
  return frames
}

function frameOf(frame: RunFrame): WireFrame {
  return textFrame(frame)
}
