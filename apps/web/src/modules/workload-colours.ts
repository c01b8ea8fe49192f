/** A colour per workload, the same in logs and charts: by its place among the sorted names. */
export function coloursOf(workloads: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries([...workloads].sort().map((name, index) => [name, `var(--series-${(index % 6) + 1})`]))
}
