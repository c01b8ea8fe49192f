import { readdir, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { NoteExchange } from './exchange-note.ts'
import { createJournal, recoverJournals } from './journal.ts'
import { lineOf } from './line.ts'
import { createMinutes, type Minutes, minuteOf, writeMinute } from './minutes.ts'
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
import { createRounds, type Queue } from './rounds.ts'
import { createSegments, dropOlder, type Segments } from './segments.ts'
import { dropOldTraffic, readTraffic, trafficFile } from './traffic.ts'
import { createViewers } from './viewers.ts'

/**
 * What was asked of each project: its lines and its minutes, in a folder for each. One process writes them, whichever
 * served. Killed at any moment, the lines of the last second are lost, and the statistics of the running minute.
 */
export interface AccessLog {
  /** Of a request that was served in this process. */
  readonly note: NoteExchange
  /** Of those that were served in others. */
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
const mostTrafficQueues = 10_000

export function createAccessLog({ folder, bytes, days, now = Date.now, onError }: AccessLogOptions): AccessLog {
  const viewers = createViewers()
  const projects = new Map<string, Project>()
  const trafficQueues = new Map<string, Queue>()
  const journal = createJournal(folder)
  const ready = recoverJournals(folder, (project, lines) =>
    projectOf(project).segments.append(Buffer.from(lines)),
  ).catch((error: unknown) => onError(error, 0))
  const rounds = createRounds({ ready, turn: journal.turn, onError })

  const folderOf = (project: string) => join(folder, project)
  const projectOf = (id: string): Project => {
    let project = projects.get(id)
    if (project === undefined) {
      const segments = createSegments(folderOf(id), bytes, now)
      project = { id, segments, lines: rounds.queue(segments), minutes: createMinutes() }
      projects.set(id, project)
    }
    return project
  }
  const add = ({ id, lines }: Project, text: string, count: number) => {
    if (lines.add(text, count)) journal.add(id, text)
  }
  /** The same object for the same day, so that its lines are written together. */
  const trafficOf = (project: string, minute: number): Queue => {
    const day = `${project} ${Math.floor(minute / minutesOfDay)}`
    let queue = trafficQueues.get(day)
    if (queue === undefined) {
      queue = rounds.queue(trafficFile(folderOf(project), minute))
      trafficQueues.set(day, queue)
      if (trafficQueues.size > mostTrafficQueues) trafficQueues.delete(trafficQueues.keys().next().value!)
    }
    return queue
  }
  const written = (project: string) => projects.get(project)?.lines.flush() ?? ready
  const writeMinutes = (before: number) => {
    for (const { id, minutes } of projects.values()) {
      for (const [minute, counts] of minutes.take(before)) {
        trafficOf(id, minute).add(`${writeMinute(minute, counts)}\n`, 0)
      }
    }
  }
  const closeIdle = () => {
    const byUse = [...projects.values()]
      .map(({ segments }) => segments)
      .filter(({ isOpen }) => isOpen)
      .sort((one, other) => other.usedAt - one.usedAt)
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
    note(note) {
      if (!isProjectId(note.project)) return
      const project = projectOf(note.project)
      const time = now()
      add(project, lineOf(note, time), 1)
      project.minutes.count(time, note.status, note.seconds, note.bytes)
    },
    record(batches) {
      for (const { project: id, lines, facts } of batches) {
        if (!isProjectId(id)) continue
        const project = projectOf(id)
        add(project, lines, facts.length / 4)
        for (let index = 0; index + 3 < facts.length; index += 4) {
          project.minutes.count(facts[index]!, facts[index + 1]!, facts[index + 2]!, facts[index + 3]!)
        }
      }
    },
    async list(project, query) {
      await written(project)
      return readNewest(folderOf(project), query)
    },
    async traffic(project, query) {
      // Finished minutes may wait for their round.
      const today = minuteOf(now())
      writeMinutes(today)
      for (const minute of [today - minutesOfDay, today]) await trafficOf(project, minute).flush()
      return readTraffic(folderOf(project), query, projects.get(project)?.minutes.waiting ?? new Map())
    },
    async viewers(project, share) {
      await written(project)
      return { items: await viewers.of(folderOf(project), share) }
    },
    async forget(project) {
      const known = projects.get(project)
      if (known !== undefined) {
        await known.lines.flush()
        await known.segments.close()
        projects.delete(project)
      }
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
      await Promise.all([...projects.values()].map(({ segments }) => segments.close()))
    },
  }
}

interface Project {
  readonly id: string
  readonly segments: Segments
  /** The way to its segments. */
  readonly lines: Queue
  readonly minutes: Minutes
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
