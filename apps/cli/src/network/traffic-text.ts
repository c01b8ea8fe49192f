import type { Traffic } from '@stackquay/contract'
import { size } from '../output/size.ts'
import type { Style } from '../output/style.ts'
import { fields, table } from '../output/table.ts'

/** The sums of a range, and how its requests were spread over it. */
export function trafficText({ items, total, stepSeconds }: Traffic, style: Style): string {
  if (total.requests === 0) return 'No requests.'
  const seconds = items.length * stepSeconds
  const classes = [
    ['2xx', total.status2xx],
    ['3xx', total.status3xx],
    ['4xx', total.status4xx],
    ['5xx', total.status5xx],
  ] as const
  const rows = classes.map(([name, count]) => [name, String(count), share(count, total.requests)])
  const facts: [string, string][] = [
    ['Requests', `${total.requests}${seconds === 0 ? '' : `, ${rate(total.requests / seconds)}`}`],
    ['Sent', size(total.bytes)],
    ['Answered in', `${time(total.p50)} (half), ${time(total.p95)} (95 %), ${time(total.p99)} (99 %)`],
  ]
  const requests = items.map((item) => item.requests)
  const wide = Math.min(60, style.columns ?? 60)
  return [
    fields(facts, style),
    '',
    table(['STATUS', 'REQUESTS', 'SHARE'], rows, style),
    '',
    bar(requests, wide),
    style.colors.dim(ends(items, wide)),
  ].join('\n')
}

const steps = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/** Neighbours are put together where there are more of them than columns; none at all is a blank. */
export function bar(counts: readonly number[], columns: number): string {
  const each = Math.max(1, Math.ceil(counts.length / columns))
  const sums: number[] = []
  for (let from = 0; from < counts.length; from += each)
    sums.push(counts.slice(from, from + each).reduce((sum, count) => sum + count, 0))
  const most = Math.max(...sums)
  return sums
    .map((sum) =>
      sum === 0 ? ' ' : steps[Math.min(steps.length - 1, Math.floor((sum / most) * (steps.length - 0.01)))],
    )
    .join('')
}

/** When the bar begins and ends, below its ends. */
function ends(items: Traffic['items'], columns: number): string {
  const first = items[0]?.time.slice(0, 16).replace('T', ' ') ?? ''
  const last = items.at(-1)?.time.slice(0, 16).replace('T', ' ') ?? ''
  const each = Math.max(1, Math.ceil(items.length / columns))
  const width = Math.ceil(items.length / each)
  return `${first}${' '.repeat(Math.max(2, width - first.length - last.length))}${last} UTC`
}

function rate(perSecond: number): string {
  return perSecond >= 1 ? `${perSecond.toFixed(1)} a second` : `${(perSecond * 60).toFixed(1)} a minute`
}

function share(count: number, all: number): string {
  return `${((count / all) * 100).toFixed(1)} %`
}

function time(seconds: number | null): string {
  if (seconds === null) return '-'
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`
}
