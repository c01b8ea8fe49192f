import type { LogStats } from '@stackquay/contract'

export const countedLevels = ['error', 'warning', 'info', 'debug', 'none'] as const
export type CountedLevel = (typeof countedLevels)[number]

/** One bar of the chart over a log. */
export interface LogStep {
  readonly since: string
  readonly until: string
  readonly counts: Readonly<Record<CountedLevel, number>>
  readonly total: number
}

export function stepsOf({ from, stepSeconds, levels }: LogStats): readonly LogStep[] {
  const begin = Date.parse(from)
  return (levels.error ?? []).map((_, index) => {
    const counts = Object.fromEntries(
      countedLevels.map((level) => [level, levels[level]?.[index] ?? 0]),
    ) as unknown as LogStep['counts']
    const since = begin + index * stepSeconds * 1000
    return {
      since: new Date(since).toISOString(),
      until: new Date(since + stepSeconds * 1000 - 1).toISOString(),
      counts,
      total: countedLevels.reduce((sum, level) => sum + counts[level], 0),
    }
  })
}

export function sumOf(counts: readonly number[] | undefined): number {
  return (counts ?? []).reduce((sum, count) => sum + count, 0)
}
