const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

/** `812 bytes`, `1.4 kB`, `27 MB`. */
export function size(bytes: number): string {
  let value = bytes
  let unit = 0
  // What would be shown as 1000 of one unit is 1 of the next.
  while (Math.round(value) >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}
