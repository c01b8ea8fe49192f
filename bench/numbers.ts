export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The value below which this share of the values lies: `quantile(times, 0.95)`. */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError('there is nothing to take a quantile of')
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}

/** Compared round by round: two neighbours in time saw the same machine, two medians of a whole run may not have. */
export function medianRatio(over: readonly number[], under: readonly number[]): number {
  return median(over.map((value, round) => value / under[round]!))
}

export function milliseconds(value: number): string {
  return `${value < 10 ? value.toFixed(2) : Math.round(value)} ms`
}

export function perSecond(value: number): string {
  return value < 1000 ? `${Math.round(value)}` : `${(value / 1000).toFixed(1)} k`
}
