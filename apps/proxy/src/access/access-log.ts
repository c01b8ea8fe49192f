import { readdir, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { NoteExchange } from './exchange-note.ts'
import { createJournal, recoverJournals } from './journal.ts'
import { lineOf } from './line.ts'
import { createMinutes, type Minutes, minuteOf } from './minutes.ts'
import {
  type AccessPage,
  type AccessQuery,
  isProjectId,
  type TrafficAnswer,
  type TrafficQuery,
  type ViewersAnswer,
} from './queries.ts'
import { readNewest } from './read-log.ts'
import { createRounds } from './rounds.ts'
import { createSegments, dropOlder, type Segments } from './segments.ts'
import { factsOfLine, type Lines } from './sheet.ts'
import { type Batch, createRoom, createSpool, type Room } from './spool.ts'
import { appendMinutes, dropOldTraffic, readTraffic } from './traffic.ts'
import { createViewers } from './viewers.ts'

/**
 * What was asked of each project: its lines and its minutes, in a folder for each. One process writes them, whichever
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
const idleMs = 60_000
/** Files of busy projects stay open; more than this are closed again, those first that waited longest. */
const mostOpen = 1_000
const dayMs = 24 * 60 * 60_000
/** Files that are written at the same time. */
const together = 4
/** Bytes. So much does not wait for the end of a rest. */
const soonAt = 32 * 1024 * 1024
/** So many may wait or be written; what is more is dropped. */
const mostWaiting = 64 * 1024 * 1024

export function createAccessLog({
  folder,
  bytes,
  days,
  most = mostWaiting,
  now = Date.now,
  onError,
}: AccessLogOptions): AccessLog {
  const viewers = createViewers()
  const projects = new Map<string, Project>()
  /** Of these a minute is over. */
  const due = new Set<Project>()
  let dropped = 0

  const folderOf = (project: string) => join(folder, project)
  const projectOf = (id: string): Project => {
    let project = projects.get(id)
    if (project === undefined) {
      project = { id, segments: createSegments(folderOf(id), bytes, now), minutes: createMinutes() }
      projects.set(id, project)
    }
    return project
  }
  const lose = (error: unknown, lines: number) => {
    dropped += lines
    onError(error, lines)
  }
  const writeLines = async (batch: Batch, id: string, room: Room): Promise<void> => {
    if (!isProjectId(id)) return
    const { segments, minutes } = projectOf(id)
    const lines = batch.takeOut(id, minutes.count, room)
    if (lines.count > 0) await segments.append(lines.bytes).catch((error: unknown) => lose(error, lines.count))
  }
  const writeMinutes = ({ id, minutes }: Project, before: number): Promise<void> =>
    appendMinutes(folderOf(id), minutes.take(before)).catch((error: unknown) => lose(error, 0))

  const spool = createSpool(most)
  const journal = createJournal(folder, spool.fresh)
  const ready = recoverJournals(folder, (project, lines) =>
    projectOf(project).segments.append(Buffer.from(lines)),
  ).catch((error: unknown) => onError(error, 0))
  const rounds = createRounds({
    ready,
    async round() {
      const taken = spool.take()
      const forgetFormer = journal.turn()
      const batch = await taken
      const over = [...due]
      due.clear()
      const writes = [
        ...batch.projects.map((id) => (room: Room) => writeLines(batch, id, room)),
        ...over.map((project) => () => writeMinutes(project, minuteOf(now()))),
      ]
      const next = writes.values()
      const some = async () => {
        const room = createRoom()
        for (const write of next) await write(room)
      }
      try {
        await Promise.all(Array.from({ length: together }, some))
      } finally {
        await forgetFormer()
        batch.release()
      }
      return writes.length
    },
  })
  const added = (isAdded: boolean, lines: number) => {
    if (!isAdded) lose(new Error('The disk does not keep up with the access log.'), lines)
    rounds.want()
    journal.want()
    if (spool.waiting > soonAt) rounds.hurry()
  }
  /** What waits of one project is written, and counted. */
  const written = (id: string) =>
    rounds.inTurn(async () => {
      const batch = await spool.sort()
      if (batch.projects.includes(id)) await writeLines(batch, id, createRoom())
    })
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
    for (const project of projects.values()) {
      if (project.minutes.hasBefore(minuteOf(now()))) due.add(project)
    }
    if (due.size > 0) rounds.want()
    closeIdle()
    spool.trim()
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
      added(spool.add(project, lineOf(note, time), time, status, seconds, bytes), 1)
    },
    record(lines) {
      added(spool.addLines(lines), lines.facts.length / factsOfLine)
    },
    async list(project, query) {
      await written(project)
      return readNewest(folderOf(project), query)
    },
    async traffic(project, query) {
      await written(project)
      // Not while a minute is on its way from memory to its file.
      return rounds.inTurn(async () =>
        readTraffic(folderOf(project), query, projects.get(project)?.minutes.waiting ?? new Map()),
      )
    },
    async viewers(project, share) {
      await written(project)
      return { items: await viewers.of(folderOf(project), share) }
    },
    forget: (id) =>
      rounds.inTurn(async () => {
        const batch = await spool.sort()
        batch.takeOut(id, () => {}, createRoom())
        const known = projects.get(id)
        if (known !== undefined) {
          projects.delete(id)
          due.delete(known)
          await known.segments.close()
        }
        viewers.forget(folderOf(id))
        await rm(folderOf(id), { recursive: true, force: true })
      }),
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
      await rounds.flush()
      await rounds.inTurn(async () => {
        for (const project of projects.values()) {
          await writeMinutes(project, Number.POSITIVE_INFINITY)
          await project.segments.close()
        }
      })
    },
  }
}

interface Project {
  readonly id: string
  readonly segments: Segments
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
