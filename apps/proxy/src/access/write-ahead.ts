import { appendFile, open, readdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { projectMark } from './line-page.ts'
import { makeFolders } from './make-folder.ts'
import { isProjectId } from './queries.ts'
import { segmentNumbers, segmentPath } from './segments.ts'

/**
 * One file for the lines of all projects that are not in their own files yet. With it those can wait for many lines, which
 * is what a thousand busy projects need, and still no more than a moment is lost when the process is killed.
 */
export interface WriteAhead {
  /** Something waits. */
  want(): void
  /**
   * The lines until now are being written to their own files; later ones go into the next file. Answers the
   * function that forgets the former.
   */
  rotate(): () => Promise<void>
}

/** Longer than the rest between two runs when few projects are busy: then nothing is written here. */
const waitMs = 250

/** `fresh`: what came since it was asked last. The memory is not used again before what `rotate` answered has ended. */
export function createWriteAhead(folder: string, fresh: () => readonly Buffer[]): WriteAhead {
  let number = Date.now()
  let timer: NodeJS.Timeout | undefined
  let written = false
  let last: Promise<void> = Promise.resolve()

  const write = () => {
    timer = undefined
    written = true
    const path = pathOf(folder, number)
    const chunks = fresh()
    last = last.then(async () => {
      try {
        await makeFolders(folder)
        await appendFile(path, Buffer.concat(chunks), { mode: 0o600 })
      } catch {
        // A full disk shows, and is counted, where the lines go in the end.
      }
    })
  }

  return {
    want() {
      timer ??= setTimeout(write, waitMs)
    },
    rotate() {
      clearTimeout(timer)
      timer = undefined
      const before = last
      if (!written) return () => before
      const former = pathOf(folder, number)
      number += 1
      written = false
      return async () => {
        await before
        await unlink(former).catch(() => {})
      }
    },
  }
}

/**
 * Brings what a killed process left in these files to where it belongs. Lines that had got there are known by their text,
 * so this can be killed itself and begin again.
 */
export async function recoverWriteAhead(
  folder: string,
  append: (project: string, lines: string) => Promise<void>,
): Promise<void> {
  for (const name of await namesIn(folder)) {
    const path = join(folder, name)
    for (const [project, lines] of linesByProject(await readFile(path, 'utf8'))) {
      const there = await lastLines(join(folder, project), Buffer.byteLength(lines.join('\n')) + 1_024)
      const missing = lines.filter((line) => !there.has(line))
      if (missing.length > 0) await append(project, `${missing.join('\n')}\n`)
    }
    await unlink(path)
  }
}

/** Older versions look for these names too. */
function pathOf(folder: string, number: number): string {
  return join(folder, `journal-${number}.log`)
}

/** Oldest first. */
async function namesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => /^journal-\d+\.log$/.test(name)).sort()
}

/** A broken line at the end is left out. */
function linesByProject(text: string): ReadonlyMap<string, string[]> {
  const found = new Map<string, string[]>()
  let lines: string[] | undefined
  for (const line of text.split('\n').slice(0, -1)) {
    if (line.startsWith(projectMark)) {
      const project = line.slice(projectMark.length)
      lines = isProjectId(project) ? (found.get(project) ?? []) : undefined
      if (lines !== undefined) found.set(project, lines)
    } else lines?.push(line)
  }
  return found
}

/** Of the last two files, because the newest may have been begun in between. */
async function lastLines(folder: string, bytes: number): Promise<ReadonlySet<string>> {
  const lines = new Set<string>()
  for (const number of (await segmentNumbers(folder)).slice(-2)) {
    const file = await open(segmentPath(folder, number), 'r')
    try {
      const { size } = await file.stat()
      const tail = Buffer.alloc(Math.min(size, bytes))
      await file.read(tail, 0, tail.length, size - tail.length)
      for (const line of tail.toString('utf8').split('\n')) lines.add(line)
    } finally {
      await file.close()
    }
  }
  return lines
}
