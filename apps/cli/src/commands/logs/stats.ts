import type { LogStats } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import { bar } from '../../network/traffic-text.ts'
import { plainText } from '../../output/plain-text.ts'
import { fields, table } from '../../output/table.ts'

export interface StatsQuery {
  readonly workload?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** How many lines of each level there were over time, and which errors came most. */
export async function showStats(context: Context, id: string, query: StatsQuery): Promise<void> {
  const client = await context.client()
  const stats = await client.call('getLogStats', { params: { id }, query }, { signal: context.signal })
  context.result(stats, () => statsText(context, stats))
  if (stats.partial)
    context.note(`Time ran out: lines before ${stats.countedFrom} are not counted. Narrow it with --since.`)
}

function statsText({ style }: Context, { levels, topErrors, from, stepSeconds }: LogStats): string {
  const wide = Math.min(60, style.columns ?? 60)
  const rows = Object.entries(levels).map(([level, counts]): [string, string] => {
    const sum = counts.reduce((a, b) => a + b, 0)
    return [level === 'none' ? 'no level' : level, `${String(sum).padStart(8)}  ${sum === 0 ? '' : bar(counts, wide)}`]
  })
  const errors = topErrors.map(({ count, workload, lastAt, pattern }) => [
    String(count),
    plainText(workload),
    lastAt.slice(0, 19).replace('T', ' '),
    plainText(pattern),
  ])
  return [
    fields(rows, style),
    style.colors.dim(`from ${from.slice(0, 16).replace('T', ' ')} UTC, a step is ${stepSeconds} s`),
    ...(errors.length === 0 ? [] : ['', table(['ERRORS', 'WORKLOAD', 'LAST', 'LIKE'], errors, style)]),
  ].join('\n')
}
