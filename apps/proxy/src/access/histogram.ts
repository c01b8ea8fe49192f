/** Times of answers, counted in buckets that are each 5 % longer than the one before: bucket and count in turns. */
export type SparseHistogram = readonly number[]

export interface Histogram {
  add(seconds: number): void
  merge(other: SparseHistogram): void
  sparse(): SparseHistogram
  /** Seconds, at most 2.5 % off; null when nothing was counted. */
  percentile(part: number): number | null
}

/** The first bucket ends here; the last one begins after three hours. */
const shortest = 50e-6
const step = Math.log(1.05)
const buckets = 400

export function createHistogram(): Histogram {
  const counts = new Map<number, number>()
  let total = 0
  const count = (bucket: number, times: number) => {
    counts.set(bucket, (counts.get(bucket) ?? 0) + times)
    total += times
  }
  const ordered = () => [...counts].sort(([one], [other]) => one - other)

  return {
    add: (seconds) => count(bucketOf(seconds), 1),
    merge(other) {
      for (let index = 0; index + 1 < other.length; index += 2) count(other[index]!, other[index + 1]!)
    },
    sparse: () => ordered().flat(),
    percentile(part) {
      let below = 0
      for (const [bucket, times] of ordered()) {
        below += times
        if (below >= part * total) return middleOf(bucket)
      }
      return null
    },
  }
}

function bucketOf(seconds: number): number {
  if (!(seconds > shortest)) return 0
  return Math.min(buckets - 1, Math.ceil(Math.log(seconds / shortest) / step))
}

/** As exact as the bucket. */
function middleOf(bucket: number): number {
  return Number((shortest * Math.exp((bucket - 0.5) * step)).toPrecision(3))
}
