import type { Viewer } from './queries.ts'
import { openSegment, parseLine } from './read-log.ts'
import { segmentNumbers } from './segments.ts'

/** Who opened a share, found in the project’s log: read once, later only what was added. */
export interface Viewers {
  of(folder: string, share: string): Promise<readonly Viewer[]>
  forget(folder: string): void
}

const mostViewers = 500
/** Shares whose result is remembered. */
const mostKnown = 100
const blockBytes = 256 * 1024
/** Clients that these turned away have not seen anything. */
const turnedAway: ReadonlySet<string | null> = new Set(['share', 'addresses', 'password'])

export function createViewers(): Viewers {
  const known = new Map<string, Seen>()
  return {
    async of(folder, share) {
      const key = `${folder}\n${share}`
      const seen = known.get(key) ?? { folder, number: 0, offset: 0, viewers: new Map(), reading: Promise.resolve() }
      known.delete(key)
      known.set(key, seen)
      if (known.size > mostKnown) known.delete(known.keys().next().value!)
      // Two who ask at once must not count a line twice.
      seen.reading = seen.reading.catch(() => {}).then(() => readOn(seen, share))
      await seen.reading
      return [...seen.viewers.values()].toReversed()
    },
    forget(folder) {
      for (const [key, seen] of known) if (seen.folder === folder) known.delete(key)
    },
  }
}

interface Seen {
  readonly folder: string
  number: number
  offset: number
  /** The newest is last. */
  readonly viewers: Map<string, Viewer>
  reading: Promise<void>
}

async function readOn(seen: Seen, share: string): Promise<void> {
  const mark = Buffer.from(`"share":${JSON.stringify(share)}`)
  for (const number of await segmentNumbers(seen.folder)) {
    if (number < seen.number) continue
    if (number > seen.number) {
      seen.number = number
      seen.offset = 0
    }
    const file = await openSegment(seen.folder, number)
    if (file === null) continue
    try {
      const block = Buffer.alloc(blockBytes)
      for (;;) {
        const { bytesRead } = await file.read(block, 0, block.length, seen.offset)
        const end = block.lastIndexOf(lineFeed, bytesRead - 1) + 1
        if (bytesRead === 0 || end === 0) break
        const lines = block.subarray(0, end)
        if (lines.includes(mark)) {
          for (const text of lines.toString('utf8').split('\n')) count(seen.viewers, text, share)
        }
        seen.offset += end
      }
    } finally {
      await file.close()
    }
  }
}

const lineFeed = 0x0a

function count(viewers: Map<string, Viewer>, text: string, share: string): void {
  if (!text.includes(share)) return
  const line = parseLine(text)
  if (line === null || line.share !== share || turnedAway.has(line.by)) return
  const { client: address, userAgent, time } = line
  const key = `${address}\n${userAgent ?? ''}`
  const before = viewers.get(key)
  viewers.delete(key)
  viewers.set(key, {
    address,
    userAgent,
    first: before?.first ?? time,
    last: time,
    requests: (before?.requests ?? 0) + 1,
  })
  if (viewers.size > mostViewers) viewers.delete(viewers.keys().next().value!)
}
