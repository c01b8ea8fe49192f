/** What was counted of a project since the proxy began; it only grows. */
export interface TotalsOfProject {
  readonly project: string
  /** Requests with a status of 1xx to 5xx. */
  readonly classes: readonly [number, number, number, number, number]
  /** From the first byte of a request to the last of its answer, in all. Tunnels are left out. */
  readonly seconds: number
  /** Of the bodies of answers. */
  readonly bytes: number
}

export interface Totals {
  count(status: number, seconds: number, bytes: number): void
  read(): Omit<TotalsOfProject, 'project'>
}

export function createTotals(): Totals {
  const classes: [number, number, number, number, number] = [0, 0, 0, 0, 0]
  let secondsInAll = 0
  let bytesInAll = 0
  return {
    count(status, seconds, bytes) {
      const group = Math.floor(status / 100) - 1
      if (group >= 0 && group < 5) classes[group]! += 1
      // A tunnel lives for hours; that is no time of an answer.
      if (status !== 101) secondsInAll += seconds
      bytesInAll += bytes
    },
    read: () => ({ classes: [...classes], seconds: secondsInAll, bytes: bytesInAll }),
  }
}
