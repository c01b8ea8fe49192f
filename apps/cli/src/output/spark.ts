const steps = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/** Neighbours are put together where there are more of them than columns: the highest counts. What is not known is a blank. */
export function spark(values: readonly (number | null)[], columns: number): string {
  const each = Math.max(1, Math.ceil(values.length / columns))
  const peaks: (number | null)[] = []
  for (let from = 0; from < values.length; from += each) {
    const known = values.slice(from, from + each).filter((value) => value !== null)
    peaks.push(known.length === 0 ? null : Math.max(...known))
  }
  const most = Math.max(0, ...peaks.filter((peak) => peak !== null))
  const stepOf = (peak: number) =>
    steps[most === 0 ? 0 : Math.min(steps.length - 1, Math.floor((peak / most) * (steps.length - 0.01)))]
  return peaks.map((peak) => (peak === null ? ' ' : stepOf(peak))).join('')
}
