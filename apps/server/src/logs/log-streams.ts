import type { Engine } from '@stackquay/engine-api'
import type { FrameSocket } from '../http/handler.ts'
import { createRelay, type Relay, type WireFrame } from '../streams/relay.ts'
import { type ChunkMemory, createChunkMemory } from './log-chunks.ts'
import type { LogFilter } from './log-filter.ts'
import { readPosition, writePosition } from './log-position.ts'
import { type LogChunk, type LogReader, openLogReader } from './log-reader.ts'
import { jsonOf } from './log-slices.ts'

/** What is followed; equal keys mean the same workloads of the same project with the same filters. */
export interface Followed {
  readonly key: string
  readonly project: string
  readonly names: () => Promise<readonly string[]>
  readonly fits: LogFilter | null
}

/** Followers of the same lines share reading, merging, searching and their encoding. */
export interface LogStreams {
  /** Sends everything after a position until the socket is gone. Throws when there is nothing more to follow. */
  send(followed: Followed, socket: FrameSocket, after: string): Promise<void>
}

/** For all streams together; see the relay. */
const keepBytes = 24 << 20
/** Readers at different places of one log; each has its files open. */
const openReaders = 64

export function createLogStreams(engine: Pick<Engine, 'logBatches'>): LogStreams {
  const memory = createChunkMemory()
  const streams = new Map<
    string,
    { readonly relay: Relay<string>; readonly end: () => Promise<void>; readers: number }
  >()

  const open = (followed: Followed) => {
    const known = streams.get(followed.key)
    if (known !== undefined) return known
    const source = sourceOf(engine, followed, memory)
    const share = () => keepBytes / Math.max(1, streams.size)
    const made = { relay: createRelay<string>(source, { keepBytes: share }), end: source.close, readers: 0 }
    streams.set(followed.key, made)
    return made
  }

  return {
    async send(followed, socket, after) {
      const stream = open(followed)
      stream.readers += 1
      try {
        await stream.relay.send(socket, after)
      } finally {
        stream.readers -= 1
        if (stream.readers === 0) {
          streams.delete(followed.key)
          await stream.end()
        }
      }
    },
  }
}

/** Whoever asks for a position goes on with the reader that stands there, else another is opened. */
function sourceOf(engine: Pick<Engine, 'logBatches'>, { project, names, fits }: Followed, memory: ChunkMemory) {
  const standing = new Map<string, LogReader>()
  const park = async (at: string, reader: LogReader) => {
    const other = standing.get(at)
    standing.set(at, reader)
    await other?.close()
    const [oldest] = standing.keys()
    if (standing.size <= openReaders || oldest === undefined) return
    const tired = standing.get(oldest)
    standing.delete(oldest)
    await tired?.close()
  }
  return {
    async next(after: string, signal: AbortSignal) {
      const reader =
        standing.get(after) ?? openLogReader({ engine, project, names, from: readPosition(after), fits, follow: true })
      standing.delete(after)
      let chunk: LogChunk | null
      try {
        chunk = await reader.next(signal)
      } catch (error) {
        await reader.close()
        throw error
      }
      if (chunk === null) {
        await reader.close()
        return null
      }
      const to = writePosition(chunk.to)
      await park(to, reader)
      const frames = framesOf(chunk, memory)
      const release = () => {
        for (const { bytes } of frames) memory.giveBack(bytes)
      }
      return { frames, to, release }
    },
    async close() {
      const readers = [...standing.values()]
      standing.clear()
      await Promise.all(readers.map((reader) => reader.close()))
    },
  }
}

/** `lines` frames without their beginning, of about 64 KB. */
export function framesOf(
  { slices, from }: Pick<LogChunk, 'slices' | 'from'>,
  memory: ChunkMemory | null = null,
): WireFrame[] {
  const chunks = jsonOf(slices, from, { start: '"items":[', between: ',', end: ']}' }, memory)
  return chunks.map((bytes) => ({ kind: 'numbered', type: 'lines', bytes }))
}
