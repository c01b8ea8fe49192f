import type { Exit } from './observed.ts'
import type { ProcessRun } from './workload.ts'

const MIB = 1024 ** 2

/** `512 MiB`, `1.5 GiB`. */
export function memoryText(bytes: number): string {
  const [amount, unit] = bytes >= 1024 * MIB ? [bytes / (1024 * MIB), 'GiB'] : [bytes / MIB, 'MiB']
  return `${Number(amount.toFixed(2))} ${unit}`
}

/** The memory that a program may use, on whatever engine; null without a limit. */
export function memoryLimitOf({ container, limits }: Pick<ProcessRun, 'container' | 'limits'>): number | null {
  return (container?.limits ?? limits)?.memoryBytes ?? null
}

/** How a program ended, after its title or `It`. */
export function exitText(
  { code, signal, outOfMemory, outOfProcesses }: Omit<Exit, 'at'>,
  run: Pick<ProcessRun, 'container' | 'limits'>,
): string {
  if (outOfMemory === true) {
    const limit = memoryLimitOf(run)
    return limit === null
      ? 'was ended because memory ran out'
      : `was ended because it used more memory than its limit of ${memoryText(limit)}`
  }
  const how = signal !== null ? `was ended by ${signal}` : code === null ? 'ended' : `ended with exit code ${code}`
  if (outOfProcesses !== true) return how
  const most = (run.container?.limits ?? run.limits)?.pids ?? null
  return `${how} after it wanted more processes than ${most === null ? 'it may have' : `its limit of ${most}`}`
}

export const outOfMemoryHint = 'Raise its memory limit ("limits.memoryBytes"), or make it need less.'
