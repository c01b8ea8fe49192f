import { readdir, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createJournal, recoverJournals } from './journal.ts'
import { createMinutes, minuteOf, writeMinute } from './minutes.ts'
import {
  type AccessPage,
  type AccessQuery,
  isProjectId,
  type TrafficAnswer,
  type TrafficQuery,
  type ViewersAnswer,
} from './queries.ts'
import { readNewest } from './read-log.ts'
import type { Batch } from './recorder.ts'
import { type Appendable, createRounds } from './rounds.ts'
import { createSegments, dropOlder, type Segments } from './segments.ts'
import { dropOldTraffic, readTraffic, trafficFile } from './traffic.ts'
import { createViewers } from './viewers.ts'

/**
 * What was asked of each project: its lines and its minutes, in a folder for each. One process writes them, whichever
 * served. Killed at any moment, the lines of the last second are lost, and the statistics of the running minute.
 */
export interface AccessLog {
  record(batches: readonly Batch[]): void
  list(project: string, query: AccessQuery): Promise<AccessPage>
  traffic(project: string, query: TrafficQuery): Promise<TrafficAnswer>
  viewers(project: string, share: string): Promise<ViewersAnswer>
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
  readonly now?: () => number
  onError(error: unknown, lines: number): void
}

const minuteLookMs = 5_000
const idleMs = 60_000
/** Files of busy projects stay open; more than this are closed again, those first that waited longest. */
const mostOpen = 1_000
const minutesOfDay = 24 * 60
const dayMs = minutesOfDay * 60_000
const mostTrafficFiles = 10_000

export function createAccessLog({ folder, bytes, days, now = Date.now, onError }: AccessLogOptions): AccessLog {
  const minutes = createMinutes()
  const viewers = createViewers()
  const open = new Map<string, Segments>()
  const trafficFiles = new Map<string, Appendable>()
  const journal = createJournal(folder)
  const ready = recoverJournals(folder, (project, lines) => segmentsOf(project).append(lines)).catch((error: unknown) =>
    onError(error, 0),
  )
  const rounds = createRounds({ ready, turn: journal.turn, onError })

  const folderOf = (project: string) => join(folder, project)
  const segmentsOf = (project: string): Segments => {
    let segments = open.get(project)
    if (segments === undefined) {
      segments = createSegments(folderOf(project), bytes, now)
      open.set(project, segments)
    }
    return segments
  }
  /** The same object for the same day, so that its lines are written together. */
  const trafficFileOf = (project: string, minute: number): Appendable => {
    const day = `${project} ${Math.floor(minute / minutesOfDay)}`
    let file = trafficFiles.get(day)
    if (file === undefined) {
      file = trafficFile(folderOf(project), minute)
      trafficFiles.set(day, file)
      if (trafficFiles.size > mostTrafficFiles) trafficFiles.delete(trafficFiles.keys().next().value!)
    }
    return file
  }
  const writeMinutes = (before: number) => {
    for (const [project, minute, counts] of minutes.take(before)) {
      rounds.add(trafficFileOf(project, minute), `${writeMinute(minute, counts)}\n`, 0)
    }
  }
  const closeIdle = () => {
    const byUse = [...open.values()].filter(({ isOpen }) => isOpen).sort((one, other) => other.usedAt - one.usedAt)
    for (const [index, segments] of byUse.entries()) {
      if (index < mostOpen && now() - segments.usedAt < idleMs) continue
      // A line that waits in a round opens the file again by itself.
      void segments.close().catch(() => {})
    }
  }
  const timer = setInterval(() => {
    writeMinutes(minuteOf(now()))
    closeIdle()
  }, minuteLookMs)
  timer.unref()

  return {
    get dropped() {
      return rounds.dropped
    },
    record(batches) {
      for (const { project, lines, facts } of batches) {
        if (!isProjectId(project)) continue
        journal.add(project, lines)
        rounds.add(segmentsOf(project), lines, facts.length / 4)
        minutes.count(project, facts)
      }
    },
    async list(project, query) {
      const segments = open.get(project)
      await (segments === undefined ? ready : rounds.flush(segments))
      return readNewest(folderOf(project), query)
    },
    async traffic(project, query) {
      // Finished minutes may wait for their round.
      const today = minuteOf(now())
      writeMinutes(today)
      for (const minute of [today - minutesOfDay, today]) await rounds.flush(trafficFileOf(project, minute))
      return readTraffic(folderOf(project), query, minutes.of(project))
    },
    async viewers(project, share) {
      const segments = open.get(project)
      await (segments === undefined ? ready : rounds.flush(segments))
      return { items: await viewers.of(folderOf(project), share) }
    },
    async forget(project) {
      const segments = open.get(project)
      if (segments !== undefined) {
        await rounds.flush(segments)
        await segments.close()
        open.delete(project)
      }
      minutes.forget(project)
      viewers.forget(folderOf(project))
      await rm(folderOf(project), { recursive: true, force: true })
    },
    async sweep(kept) {
      const projects = await readdir(folder).catch(() => [])
      for (const project of projects.filter(isProjectId)) {
        await dropOlder(folderOf(project), now() - days * dayMs)
        await dropOldTraffic(folderOf(project), now())
        if (await isLongGone(folderOf(project), kept.has(project), now())) await this.forget(project)
      }
    },
    async close() {
      clearInterval(timer)
      writeMinutes(Number.POSITIVE_INFINITY)
      await rounds.flush()
      await Promise.all([...open.values()].map((segments) => segments.close()))
    },
  }
}

/** Since when a project is in no table stands in a file, because the proxy may be restarted in between. */
async function isLongGone(folder: string, isKept: boolean, now: number): Promise<boolean> {
  const mark = join(folder, 'gone')
  if (isKept) {
    await unlink(mark).catch(() => {})
    return false
  }
  const found = await stat(mark).catch(() => null)
  if (found !== null) return now - found.mtimeMs >= dayMs
  await writeFile(mark, '', { mode: 0o600 })
  await utimes(mark, now / 1000, now / 1000)
  return false
}
