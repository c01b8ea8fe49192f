import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createMinutes, type Minutes, minuteOf } from './minutes.ts'
import { isProjectId } from './queries.ts'
import { createSegments, type Segments } from './segments.ts'
import { createTotals, type Totals, type TotalsOfProject } from './totals.ts'
import { appendMinutes } from './traffic.ts'
import type { Batch, Scratch } from './write-buffer.ts'

/** The files of each project: its lines and its minutes. Failures are reported and lose what was to be written. */
export interface ProjectLogs {
  folderOf(project: string): string
  appendLines(project: string, lines: Buffer): Promise<void>
  /** Writes the lines of one project out of a batch, and counts them in its minutes. */
  writeLines(batch: Batch, project: string, scratch: Scratch): Promise<void>
  /** Minutes that are not in their file yet. */
  waitingMinutes(project: string): Minutes['waiting']
  /** Of all projects that were requested since this began. */
  totals(): readonly TotalsOfProject[]
  /** Looks for projects with a minute that is over. Answers whether there is one to write. */
  noteOver(): boolean
  /** Writes those minutes, one function for each project. */
  takeOver(): readonly (() => Promise<void>)[]
  /** Closes files that are not written to. */
  closeIdle(): void
  forget(project: string): Promise<void>
  /** Writes the running minutes too. */
  close(): Promise<void>
}

export interface ProjectLogsOptions {
  readonly folder: string
  /** Bytes of one project. */
  readonly bytes: number
  now(): number
  /** Called with what could not be written. */
  lose(error: unknown, lines: number): void
}

interface Project {
  readonly id: string
  readonly segments: Segments
  readonly minutes: Minutes
  readonly totals: Totals
}

const idleMs = 60_000
/** Files of busy projects stay open; more than this are closed again, those first that waited longest. */
const mostOpen = 1_000

export function createProjectLogs({ folder, bytes, now, lose }: ProjectLogsOptions): ProjectLogs {
  const projects = new Map<string, Project>()
  /** Of these a minute is over. */
  const over = new Set<Project>()

  const folderOf = (project: string) => join(folder, project)
  const projectOf = (id: string): Project => {
    let project = projects.get(id)
    if (project === undefined) {
      const segments = createSegments(folderOf(id), bytes, now)
      project = { id, segments, minutes: createMinutes(), totals: createTotals() }
      projects.set(id, project)
    }
    return project
  }
  const writeMinutes = ({ id, minutes }: Project, before: number): Promise<void> =>
    appendMinutes(folderOf(id), minutes.take(before)).catch((error: unknown) => lose(error, 0))

  return {
    folderOf,
    appendLines: (project, lines) => projectOf(project).segments.append(lines),
    async writeLines(batch, id, scratch) {
      if (!isProjectId(id)) return
      const { segments, minutes, totals } = projectOf(id)
      const count: Minutes['count'] = (time, status, seconds, sent) => {
        minutes.count(time, status, seconds, sent)
        totals.count(status, seconds, sent)
      }
      const lines = batch.takeOut(id, count, scratch)
      if (lines.count > 0) await segments.append(lines.bytes).catch((error: unknown) => lose(error, lines.count))
    },
    waitingMinutes: (project) => projects.get(project)?.minutes.waiting ?? new Map(),
    totals: () => [...projects.values()].map(({ id, totals }) => ({ project: id, ...totals.read() })),
    noteOver() {
      const minute = minuteOf(now())
      for (const project of projects.values()) if (project.minutes.hasBefore(minute)) over.add(project)
      return over.size > 0
    },
    takeOver() {
      const taken = [...over]
      over.clear()
      return taken.map((project) => () => writeMinutes(project, minuteOf(now())))
    },
    closeIdle() {
      // A line that waits opens the file again by itself.
      for (const segments of idleSegments([...projects.values()], now())) void segments.close().catch(() => {})
    },
    async forget(id) {
      const known = projects.get(id)
      if (known !== undefined) {
        projects.delete(id)
        over.delete(known)
        await known.segments.close()
      }
      await rm(folderOf(id), { recursive: true, force: true })
    },
    async close() {
      for (const project of projects.values()) {
        await writeMinutes(project, Number.POSITIVE_INFINITY)
        await project.segments.close()
      }
    },
  }
}

function idleSegments(projects: readonly Project[], now: number): readonly Segments[] {
  return projects
    .map(({ segments }) => segments)
    .filter(({ isOpen }) => isOpen)
    .sort((one, other) => other.usedAt - one.usedAt)
    .filter((segments, index) => index >= mostOpen || now - segments.usedAt >= idleMs)
}
