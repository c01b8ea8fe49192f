/** A place in the logs of a workload: which run, and how far in both its streams. Its text is the cursor. */
export interface Place {
  readonly log: string
  readonly out: number
  readonly err: number
}

export const firstPlace: Place = { log: '', out: 0, err: 0 }

/** Null for anything that is no cursor. */
export function parsePlace(cursor: string | undefined): Place | null {
  const parts = /^([0-9a-z]{9})\.(\d{1,13})\.(\d{1,13})$/.exec(cursor ?? '')
  return parts === null ? null : { log: parts[1] ?? '', out: Number(parts[2]), err: Number(parts[3]) }
}

export function laterPlace(a: Place, b: Place): Place {
  if (a.log !== b.log) return a.log > b.log ? a : b
  return { log: a.log, out: Math.max(a.out, b.out), err: Math.max(a.err, b.err) }
}
