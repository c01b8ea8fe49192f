import { type FileHandle, open } from 'node:fs/promises'
import type { LogLine, WorkloadRef } from '@stackquay/engine-api'
import { orNull } from './errors.ts'
import { logsDir } from './home.ts'
import { logFiles, logsOf } from './log-files.ts'
import { type Place, readIndex } from './logs.ts'
import type { Machine } from './machine.ts'

const BLOCK = 64 * 1024

/** Where the last `count` lines of all runs begin. Reads the files from their ends, as far as needed. */
export async function tailPosition(
  machine: Machine,
  ref: WorkloadRef,
  count: number,
  read: (from: Place) => AsyncIterable<readonly LogLine[]>,
): Promise<Place> {
  const logs = (await logsOf(logsDir(machine.home, ref))).toReversed()
  let missing = Math.max(0, Math.floor(count))
  let place: Place = { log: logs[0] ?? '', out: Number.MAX_SAFE_INTEGER, err: Number.MAX_SAFE_INTEGER }
  for (const log of logs) {
    const files = logFiles(machine, ref, log)
    const index = await readIndex(files)
    const from: Place = {
      log,
      out: index.dropped.out + (await lastLines(files.out, missing)),
      err: index.dropped.err + (await lastLines(files.err, missing)),
    }
    const ends: Place[] = [from]
    for await (const batch of read(from)) for (const line of batch) ends.push(parsePlace(line.cursor))
    place = ends[Math.max(0, ends.length - 1 - missing)] ?? from
    missing -= ends.length - 1
    if (missing <= 0) break
  }
  return place
}

function parsePlace(cursor: string): Place {
  const [log = '', out, err] = cursor.split('.')
  return { log, out: Number(out), err: Number(err) }
}

/** Byte offset at which the last `count` lines of a file begin; an unfinished line at its end counts as one. */
async function lastLines(path: string, count: number): Promise<number> {
  const file = await orNull(open(path, 'r'))
  if (file === null) return 0
  try {
    return await beforeLines(file, count)
  } finally {
    await file.close()
  }
}

async function beforeLines(file: FileHandle, count: number): Promise<number> {
  const { size } = await file.stat()
  let found = 0
  for (let end = size; end > 0; ) {
    const begin = Math.max(0, end - BLOCK)
    const buffer = Buffer.alloc(end - begin)
    await file.read(buffer, 0, buffer.length, begin)
    for (let at = buffer.lastIndexOf(10); at >= 0; at = at === 0 ? -1 : buffer.lastIndexOf(10, at - 1)) {
      if (begin + at === size - 1) continue
      found += 1
      if (found >= count) return begin + at + 1
    }
    end = begin
  }
  return count === 0 ? size : 0
}
