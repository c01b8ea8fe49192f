import type { WorkloadRef } from '@stackquay/engine-api'
import { logsOf } from './log-files.ts'
import { lastLineStarts } from './log-lines.ts'
import { mergeLog } from './log-merge.ts'
import type { OpenLog } from './log-open.ts'
import { firstPlace, type Place } from './log-place.ts'

/** Where the last `count` lines before `end` begin, over all runs. Reads the files from there backwards, as far as needed. */
export async function tailPlace(
  directory: string,
  ref: WorkloadRef,
  open: (log: string) => Promise<OpenLog | null>,
  count: number,
  end: Place | null,
): Promise<Place> {
  const logs = (await logsOf(directory)).filter((log) => end === null || log <= end.log).toReversed()
  let missing = Math.max(0, Math.floor(count))
  const behind = Number.MAX_SAFE_INTEGER
  let place: Place = logs[0] === undefined ? firstPlace : { log: logs[0], out: behind, err: behind }
  for (const log of logs) {
    const opened = await open(log)
    if (opened === null) continue
    const { stdout, stderr } = await opened.look()
    const limit = end !== null && log === end.log ? end : null
    const from: Place = {
      log,
      out: await lastLineStarts(stdout, Math.min(stdout.size, limit?.out ?? stdout.size), missing),
      err: await lastLineStarts(stderr, Math.min(stderr.size, limit?.err ?? stderr.size), missing),
    }
    const places: Place[] = [from]
    for await (const { columns } of mergeLog(ref, opened, { from, end: limit, partial: true })) {
      const { outs, errs, length } = columns
      for (let at = 0; at < length; at++) places.push({ log, out: outs[at]!, err: errs[at]! })
    }
    place = places[Math.max(0, places.length - 1 - missing)] ?? from
    missing -= places.length - 1
    if (missing <= 0) break
  }
  return place
}
