import type { Metrics, WorkloadMetrics } from '@stackquay/contract'
import { size } from '../output/size.ts'
import { spark } from '../output/spark.ts'
import type { Style } from '../output/style.ts'
import { table } from '../output/table.ts'

type Series = WorkloadMetrics['cpu']

/** What each workload used in a time, how it was spread over it, and the requests. */
export function metricsText({ from, stepSeconds, items, requests }: Metrics, style: Style): string {
  if (items.length === 0 && requests?.requests == null)
    return 'Nothing was measured in this time. What runs is measured once a minute.'
  const wide = Math.min(60, Math.max(10, (style.columns ?? 120) - 70))
  const rows = items.map((item) => [
    item.workload,
    percent(mean(item.cpu)),
    percent(most(item.cpuMax)),
    bytes(mean(item.memoryBytes)),
    bytes(most(item.memoryMaxBytes)),
    both(item.readBytes, item.writtenBytes),
    spark(item.cpuMax ?? [], wide),
  ])
  const count = Math.max(0, ...items.map(({ cpu, memoryBytes }) => (cpu ?? memoryBytes ?? []).length))
  return [
    ...(items.length === 0
      ? []
      : [
          table(['WORKLOAD', 'CPU', 'MOST', 'MEMORY', 'MOST', 'READ/WRITTEN', 'CPU OVER TIME'], rows, style),
          style.colors.dim(`From ${minuteOf(from)} UTC, ${count} steps of ${duration(stepSeconds)}.`),
        ]),
    ...requestLines(requests, wide),
  ].join('\n')
}

function requestLines(requests: Metrics['requests'], wide: number): readonly string[] {
  if (requests?.requests == null) return []
  const all = sum(requests.requests) ?? 0
  const failed = sum(requests.errors) ?? 0
  const share = all === 0 ? '' : ` (${((failed / all) * 100).toFixed(1)} %)`
  return [
    '',
    `${all} requests, ${failed} answered with 5xx${share}`,
    ...(all === 0 ? [] : [spark(requests.requests, wide)]),
  ]
}

function known(values: Series): readonly number[] {
  return (values ?? []).filter((value) => value !== null)
}

function sum(values: Series): number | null {
  const numbers = known(values)
  return numbers.length === 0 ? null : numbers.reduce((total, value) => total + value, 0)
}

function mean(values: Series): number | null {
  const total = sum(values)
  return total === null ? null : total / known(values).length
}

function most(values: Series): number | null {
  const numbers = known(values)
  return numbers.length === 0 ? null : Math.max(...numbers)
}

function percent(share: number | null): string {
  if (share === null) return '-'
  return `${share * 100 >= 9.95 || share === 0 ? Math.round(share * 100) : (share * 100).toFixed(1)} %`
}

function bytes(value: number | null): string {
  return value === null ? '-' : size(Math.round(value))
}

function both(read: Series, written: Series): string {
  return read === null && written === null ? '-' : `${bytes(sum(read))} / ${bytes(sum(written))}`
}

function minuteOf(time: string): string {
  return time.slice(0, 16).replace('T', ' ')
}

function duration(seconds: number): string {
  if (seconds < 3600) return seconds === 60 ? 'a minute' : `${seconds / 60} minutes`
  return seconds === 3600 ? 'an hour' : `${seconds / 3600} hours`
}
