import { readdir } from 'node:fs/promises'
import type { NoteExchange } from './exchange-note.ts'
import { lineOf } from './line.ts'
import { factsOfLine, type Lines } from './line-page.ts'
import { isLongGone } from './long-gone.ts'
import { createProjectLogs, type ProjectLogs } from './project-logs.ts'
import {
  type AccessPage,
  type AccessQuery,
  isProjectId,
  type TrafficAnswer,
  type TrafficQuery,
  type ViewersAnswer,
} from './queries.ts'
import { readNewest } from './read-log.ts'
import { createScheduler } from './scheduler.ts'
import { dropOlder } from './segments.ts'
import type { TotalsOfProject } from './totals.ts'
import { dropOldTraffic, readTraffic } from './traffic.ts'
import { createViewers } from './viewers.ts'
import { createWriteAhead, recoverWriteAhead, type WriteAhead } from './write-ahead.ts'
import { createScratch, createWriteBuffer, type Scratch, type WriteBuffer } from './write-buffer.ts'

/**
 * The requests of each project: its lines and its minutes, in a folder for each. One process writes them, whichever
 * served. Killed at any moment, the lines of the last second are lost, and the statistics of the running minute.
 */
export interface AccessLog {
  /** Of a request that was served in this process. */
  readonly note: NoteExchange
  /** Of those that were served in another. The memory may be used again when this returns. */
  record(lines: Lines): void
  list(project: string, query: AccessQuery): Promise<AccessPage>
  traffic(project: string, query: TrafficQuery): Promise<TrafficAnswer>
  viewers(project: string, share: string): Promise<ViewersAnswer>
  /** What was counted of projects since this began. */
  totals(): readonly TotalsOfProject[]
  /** Of a project that is deleted. Not there is fine. */
  forget(project: string): Promise<void>
  /** Drops what is too old, and what belongs to projects that no table has had for a day. */
  sweep(kept: ReadonlySet<string>): Promise<void>
  /** Lines that could not be written. */
  readonly dropped: number
  /** Writes what waits, the running minute too. */
  close(): Promise<void>
}

export interface AccessLogOptions {
  readonly folder: string
  readonly bytes: number
  readonly days: number
  /** Bytes that may wait to be written, or be on their way; lines beyond are dropped. */
  readonly most?: number
  readonly now?: () => number
  onError(error: unknown, lines: number): void
}

const minuteLookMs = 5_000
const dayMs = 24 * 60 * 60_000
/** Files that are written at the same time. */
const together = 4
/** Bytes. So much does not wait for the end of a rest. */
const soonAt = 32 * 1024 * 1024
/** So many may wait or be written; what is more is dropped. */
const mostWaiting = 64 * 1024 * 1024

export function createAccessLog(options: AccessLogOptions): AccessLog {
  const { folder, bytes, days, most = mostWaiting, now = Date.now, onError } = options
  const viewers = createViewers()
  let dropped = 0
  const lose = (error: unknown, lines: number) => {
    dropped += lines
    onError(error, lines)
  }
  const logs = createProjectLogs({ folder, bytes, now, lose })
  const buffer = createWriteBuffer(most)
  const ahead = createWriteAhead(folder, buffer.fresh)
  const recovered = recoverWriteAhead(folder, (project, lines) => logs.appendLines(project, Buffer.from(lines)))
  const ready = recovered.catch((error: unknown) => onError(error, 0))
  const scheduler = createScheduler({ ready, run: () => writeAll(buffer, ahead, logs) })

  const added = (isAdded: boolean, lines: number) => {
    if (!isAdded) lose(new Error('The disk does not keep up with the access log.'), lines)
    scheduler.want()
    ahead.want()
    if (buffer.waiting > soonAt) scheduler.hurry()
  }
  /** Writes and counts the lines of one project that wait. */
  const written = (id: string) =>
    scheduler.inTurn(async () => {
      const batch = await buffer.sort()
      if (batch.projects.includes(id)) await logs.writeLines(batch, id, createScratch())
    })
  const timer = setInterval(() => {
    if (logs.noteOver()) scheduler.want()
    logs.closeIdle()
    buffer.trim()
  }, minuteLookMs)
  timer.unref()

  return {
    get dropped() {
      return dropped
    },
    note(note) {
      const { project, status, seconds, bytes } = note
      if (!isProjectId(project)) return
      const time = now()
      added(buffer.add(project, lineOf(note, time), time, status, seconds, bytes), 1)
    },
    record: (lines) => added(buffer.addLines(lines), lines.facts.length / factsOfLine),
    async list(project, query) {
      await written(project)
      return readNewest(logs.folderOf(project), query)
    },
    totals: logs.totals,
    async traffic(project, query) {
      await written(project)
      // Not while a minute is on its way from memory to its file.
      return scheduler.inTurn(() => readTraffic(logs.folderOf(project), query, logs.waitingMinutes(project)))
    },
    async viewers(project, share) {
      await written(project)
      return { items: await viewers.of(logs.folderOf(project), share) }
    },
    forget: (id) =>
      scheduler.inTurn(async () => {
        const batch = await buffer.sort()
        batch.takeOut(id, () => {}, createScratch())
        viewers.forget(logs.folderOf(id))
        await logs.forget(id)
      }),
    async sweep(kept) {
      for (const project of (await readdir(folder).catch(() => [])).filter(isProjectId)) {
        const path = logs.folderOf(project)
        if (await isOver(path, { days, isKept: kept.has(project), now: now() })) await this.forget(project)
      }
    },
    async close() {
      clearInterval(timer)
      await scheduler.flush()
      await scheduler.inTurn(logs.close)
    },
  }
}

/** Drops what is too old, and answers whether all of it is to go. */
async function isOver(path: string, by: { days: number; isKept: boolean; now: number }): Promise<boolean> {
  await dropOlder(path, by.now - by.days * dayMs)
  await dropOldTraffic(path, by.now)
  return isLongGone(path, by.isKept, by.now)
}

/** Writes what waits and the minutes that are over, several files at a time. Answers how many. */
async function writeAll(buffer: WriteBuffer, ahead: WriteAhead, logs: ProjectLogs): Promise<number> {
  const taken = buffer.take()
  const forgetFormer = ahead.rotate()
  const batch = await taken
  const writes = [
    ...batch.projects.map((id) => (scratch: Scratch) => logs.writeLines(batch, id, scratch)),
    ...logs.takeOver(),
  ]
  const next = writes.values()
  const some = async () => {
    const scratch = createScratch()
    for (const write of next) await write(scratch)
  }
  try {
    await Promise.all(Array.from({ length: together }, some))
  } finally {
    await forgetFormer()
    batch.release()
  }
  return writes.length
}
