/** `1.4 s`, `32 s`, `2 min 5 s`, `3 h 12 min`, `5 d`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 60) return `${Math.round(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return pair(minutes, 'min', Math.floor(seconds % 60), 's')
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return pair(hours, 'h', minutes % 60, 'min')
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}

export function ago(time: string | null, now: number): string {
  if (time === null) return '-'
  const passed = now - Date.parse(time)
  return passed < 1000 ? 'now' : `${duration(passed)} ago`
}

/** `90`, `90s`, `10m`, `1h30m`, `2d` in milliseconds; null when it is none. */
export function parseDuration(text: string): number | null {
  if (/^\d+$/.test(text)) return Number(text) * 1000
  if (!/^(\d+[smhd])+$/.test(text)) return null
  const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
  let sum = 0
  for (const [, count, unit] of text.matchAll(/(\d+)([smhd])/g)) sum += Number(count) * units[unit!]!
  return sum
}

/** A moment as RFC 3339, or how long ago: `2026-11-20T08:00:00Z`, `10m`. Answers UTC; null when it is neither. */
export function parseMoment(text: string, now: number): string | null {
  const passed = parseDuration(text)
  const moment = passed === null ? (/^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN) : now - passed
  return Number.isNaN(moment) ? null : new Date(moment).toISOString()
}
