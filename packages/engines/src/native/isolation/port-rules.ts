/** Who may reach a port of this machine over loopback, of all users of projects. */
export interface PortRule {
  readonly port: number
  /** Null: its project has no user yet, so no project's program may. */
  readonly uid: number | null
}

/** Uids of projects, both ends included. Processes of all other users are not affected by walls. */
export interface UidRange {
  readonly from: number
  readonly to: number
}

/** The same rules, ready to be compared and written. */
export interface PortRules {
  readonly ports: ReadonlySet<number>
  /** `port uid`. */
  readonly pairs: ReadonlySet<string>
  /** Users that the rules do not concern: all but those of this instance's projects. Another instance has users and leases of its own. */
  readonly outside: readonly UidRange[]
}

/** Throws when a number cannot be one of a port or a user: numbers are written into the text of a firewall. */
export function portRules(rules: readonly PortRule[], users: UidRange | readonly number[]): PortRules {
  for (const { port, uid } of rules) {
    if (!isWithin(port, 1, 65_535)) throw new RangeError(`${port} is no port.`)
    if (uid !== null && !isWithin(uid, 0, LAST_UID)) throw new RangeError(`${uid} is no uid.`)
  }
  return {
    outside: outsideOf('from' in users ? [users] : users.map((uid) => ({ from: uid, to: uid }))),
    ports: new Set(rules.map(({ port }) => port)),
    pairs: new Set(rules.flatMap(({ port, uid }) => (uid === null ? [] : [`${port} ${uid}`]))),
  }
}

/** The rest of all uids. */
function outsideOf(users: readonly UidRange[]): readonly UidRange[] {
  const found: UidRange[] = []
  let next = 0
  for (const { from, to } of users.toSorted((a, b) => a.from - b.from)) {
    if (!isWithin(from, 1, LAST_UID - 1)) throw new RangeError(`${from} is no uid of a project.`)
    if (from > next) found.push({ from: next, to: from - 1 })
    next = Math.max(next, to + 1)
  }
  return [...found, { from: next, to: LAST_UID }]
}

/** 4294967295 means "no change" to the kernel. */
export const LAST_UID = 4_294_967_294

export function checkedRange({ from, to }: UidRange): UidRange {
  // Root and the service must stay outside.
  if (isWithin(from, 1, LAST_UID - 1) && isWithin(to, from, LAST_UID - 1)) return { from, to }
  throw new RangeError(`${from}-${to} is no range of uids for projects.`)
}

function isWithin(number: number, from: number, to: number): boolean {
  return Number.isInteger(number) && number >= from && number <= to
}
