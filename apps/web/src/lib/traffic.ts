import type { Traffic } from '@stackquay/contract'

type Counts = Traffic['total']
export const statusClasses = ['status2xx', 'status3xx', 'status4xx', 'status5xx'] as const
export type StatusClass = (typeof statusClasses)[number]
export const percentiles = ['p50', 'p95', 'p99'] as const
export type Percentile = (typeof percentiles)[number]

/** For bars that stand on each other: each list holds what is at its height and below. The highest comes first. */
export function stacked(
  points: readonly Pick<Counts, StatusClass>[],
): readonly { name: StatusClass; tops: number[] }[] {
  return statusClasses
    .map((name, index) => ({
      name,
      tops: points.map((point) => statusClasses.slice(0, index + 1).reduce((sum, below) => sum + point[below], 0)),
    }))
    .toReversed()
}

/** Share of answers that say the application failed: `0 %`, `0.3 %`, `12 %`. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0 %'
  const percent = (part / whole) * 100
  if (percent < 0.1) return '< 0.1 %'
  return `${percent >= 10 ? percent.toFixed(0) : percent.toFixed(1)} %`
}

/** Answers come in fractions of a millisecond or in minutes: `0.4 ms`, `38 ms`, `2.4 s`. */
export function formatLatency(seconds: number | null): string {
  if (seconds === null) return '–'
  if (seconds === 0) return '0 ms'
  const milliseconds = seconds * 1000
  if (milliseconds < 9.95) return `${milliseconds.toFixed(1)} ms`
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  return seconds < 9.95 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds)} s`
}

export function formatCount(value: number, locale?: string): string {
  return value.toLocaleString(locale)
}

/** Day and clock time, in the reader's time zone: `22 Nov, 14:03:22`. */
export function formatMoment(time: string, locale?: string): string {
  return new Date(time).toLocaleString(locale, {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  })
}
