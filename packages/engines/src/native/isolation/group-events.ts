import { readFileSync } from 'node:fs'

/** How often the kernel ended a program of a group because of its memory. Any user may read such a file. */
export function memoryKillsIn(file: string | null): number {
  return file === null ? 0 : countIn(file, /^oom_kill (\d+)/m)
}

/** How often a process was not made because the group had as many as it may. */
export function refusedProcessesIn(file: string | null): number {
  return file === null ? 0 : countIn(file, /^max (\d+)/m)
}

function countIn(file: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(file, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
