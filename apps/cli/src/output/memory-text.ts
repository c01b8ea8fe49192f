const units = [
  ['TiB', 1024 ** 4],
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const

/** `512 MiB`, `1.5 GiB`; the bytes themselves where that would not be exact. Can be typed again as it is. */
export function memoryText(bytes: number): string {
  for (const [unit, size] of units) {
    const value = bytes / size
    if (value >= 1 && Number.isInteger(value * 10)) return `${value} ${unit}`
  }
  return String(bytes)
}
