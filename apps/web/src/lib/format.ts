/** Values as people read them. Pure: the present time and the locale are handed in where they matter. */

const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 0 : 1
  return `${value.toFixed(digits)} ${units[unit]}`
}

/** Share of one core as per cent: 1 is 100 %. */
/** About how many: 1.2M. */
export function formatCount(count: number): string {
  return new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(count)
}

export function formatCpu(share: number | null): string {
  if (share === null) return '–'
  const percent = share * 100
  return `${percent >= 10 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)} %`
}

/** `42 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return join(minutes, 'min', whole % 60, 's')
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return join(hours, 'h', minutes % 60, 'min')
  return join(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

/** Time an operation took: `38 ms`, `2.4 s`, `1 min 5 s`. */
export function formatElapsed(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`
  if (milliseconds < 10_000) return `${(Math.max(0, milliseconds) / 1000).toFixed(1)} s`
  return formatDuration(milliseconds / 1000)
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}

export function secondsSince(time: string, now: number): number {
  return Math.max(0, (now - Date.parse(time)) / 1000)
}

const relativeSteps: readonly [limit: number, unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  [60, 'second', 1],
  [3600, 'minute', 60],
  [86_400, 'hour', 3600],
  [86_400 * 30, 'day', 86_400],
  [86_400 * 365, 'month', 86_400 * 30],
  [Number.POSITIVE_INFINITY, 'year', 86_400 * 365],
]

/** `3 minutes ago`, `in 2 days`, in the reader's language. */
export function formatRelative(time: string, now: number, locale?: string): string {
  const seconds = (Date.parse(time) - now) / 1000
  const size = Math.abs(seconds)
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  if (size < 5) return format.format(0, 'second')
  const [, unit, divisor] = relativeSteps.find(([limit]) => size < limit) ?? relativeSteps[relativeSteps.length - 1]!
  return format.format(Math.round(seconds / divisor), unit)
}

export function formatDateTime(time: string, locale?: string): string {
  return new Date(time).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'medium' })
}

/** Clock time with milliseconds, for log lines: `14:03:22.184`. */
export function formatClock(time: string): string {
  const date = new Date(time)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
