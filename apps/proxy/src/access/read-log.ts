import { type FileHandle, open } from 'node:fs/promises'
import type { AccessLine, AccessPage, AccessQuery } from './queries.ts'
import { segmentNumbers, segmentPath } from './segments.ts'

export interface ReadBounds {
  readonly milliseconds?: number
  readonly lines?: number
}

/**
 * The newest lines that match. The work is bounded: after a second, or so many lines, the answer says with `next` where to
 * go on, also when it found little.
 */
export async function readNewest(
  folder: string,
  query: AccessQuery,
  { milliseconds = 1_000, lines = 200_000 }: ReadBounds = {},
): Promise<AccessPage> {
  const { limit = 50, since, until } = query
  const deadline = performance.now() + milliseconds
  const start = query.before === undefined ? null : readCursor(query.before)
  const matches = matcher(query)
  const tooOld = since === undefined ? '' : new Date(Date.parse(since) - outOfOrder).toISOString()
  const items: AccessLine[] = []
  let seen = 0

  for (const number of (await segmentNumbers(folder)).toReversed()) {
    if (start !== null && number > start.number) continue
    const file = await openSegment(folder, number)
    if (file === null) continue
    try {
      if (until !== undefined && isNewer(await firstTime(file), until)) continue
      const end = start?.number === number ? start.offset : Number.POSITIVE_INFINITY
      for await (const block of blocksBackwards(file, end)) {
        for (const [at, text] of block) {
          const time = text.slice(timeStart, timeEnd)
          if (time < tooOld && looksLikeTime.test(time)) return { items, next: null }
          seen += 1
          const line =
            (since === undefined || time >= since) && (until === undefined || time <= until) ? matches(text) : null
          if (line !== null) items.push(line)
          if (items.length >= limit || seen >= lines) return { items, next: writeCursor(number, at) }
        }
        const oldest = block.at(-1)
        if (oldest !== undefined && performance.now() > deadline) return { items, next: writeCursor(number, oldest[0]) }
      }
    } finally {
      await file.close()
    }
  }
  return { items, next: null }
}

/** Lines come from several processes, each a little late. */
const outOfOrder = 5_000

/** `{"time":"2026-01-31T12:00:00.000Z",…` */
const timeStart = '{"time":"'.length
const timeEnd = timeStart + '2026-01-31T12:00:00.000Z'.length
const looksLikeTime = /^\d{4}-\d\d-\d\dT/

function matcher({ status, q, share }: AccessQuery): (text: string) => AccessLine | null {
  const needle = q?.toLowerCase()
  const inGroup = status?.endsWith('xx') ? Number(status[0]) : null
  const exactly = status !== undefined && inGroup === null ? Number(status) : null
  // Most lines are passed over by their text alone.
  const must = [
    ...(status === undefined ? [] : [`"status":${inGroup ?? exactly}`]),
    ...(share === undefined ? [] : [`"share":${JSON.stringify(share)}`]),
  ]
  return (text) => {
    if (!must.every((part) => text.includes(part))) return null
    const line = parseLine(text)
    if (line === null) return null
    if (exactly !== null && line.status !== exactly) return null
    if (inGroup !== null && Math.floor(line.status / 100) !== inGroup) return null
    if (share !== undefined && line.share !== share) return null
    if (needle === undefined) return line
    const { host, path, client, userAgent } = line
    return [host, path, client, userAgent ?? ''].some((one) => one.toLowerCase().includes(needle)) ? line : null
  }
}

/** Null for what broke off. */
export function parseLine(text: string): AccessLine | null {
  try {
    const line = JSON.parse(text) as AccessLine
    return typeof line?.time === 'string' && typeof line.status === 'number' ? line : null
  } catch {
    return null
  }
}

export async function openSegment(folder: string, number: number): Promise<FileHandle | null> {
  try {
    return await open(segmentPath(folder, number), 'r')
  } catch (error) {
    // Dropped meanwhile.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

const blockBytes = 256 * 1024

/** Newest line first, each with the place where it begins. */
async function* blocksBackwards(
  file: FileHandle,
  before: number,
): AsyncGenerator<readonly (readonly [number, string])[]> {
  let end = Math.min(before, (await file.stat()).size)
  let rest = Buffer.alloc(0)
  while (end > 0) {
    const from = Math.max(0, end - blockBytes)
    const chunk = Buffer.alloc(end - from)
    const { bytesRead } = await file.read(chunk, 0, chunk.length, from)
    if (bytesRead < chunk.length) return
    const block = Buffer.concat([chunk, rest])
    const lines: [number, string][] = []
    let stop = block.length
    while (stop > 0) {
      const feed = block.lastIndexOf(lineFeed, stop - 1)
      if (feed === -1 && from > 0) break
      if (feed + 1 < stop) lines.push([from + feed + 1, block.toString('utf8', feed + 1, stop)])
      stop = feed
    }
    rest = block.subarray(0, Math.max(0, stop))
    end = from
    yield lines
  }
}

const lineFeed = 0x0a

async function firstTime(file: FileHandle): Promise<string> {
  const head = Buffer.alloc(timeEnd)
  await file.read(head, 0, head.length, 0)
  return head.toString('latin1', timeStart)
}

/** All of a segment is, when its first line is, with some room for lines that came late. */
function isNewer(time: string, until: string): boolean {
  const at = Date.parse(time)
  return !Number.isNaN(at) && at > Date.parse(until) + outOfOrder
}

function writeCursor(number: number, offset: number): string {
  return `${number}.${offset}`
}

function readCursor(text: string): { readonly number: number; readonly offset: number } {
  const [number, offset] = text.split('.').map(Number)
  return { number: number!, offset: offset! }
}
