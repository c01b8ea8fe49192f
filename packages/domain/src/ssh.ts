/*
 * The rules of the SSH service as values: what a user name means, and which connections go on to a project. Whether somebody may enter
 * a project is the policy’s matter (`access.ts`).
 */

/** What somebody wants to log in to. */
export interface SshUser {
  readonly slug: string
  /** Runtime, database or service whose environment it is; null: the first runtime. */
  readonly workload: string | null
}

/** `shop`, or `shop+worker` for the environment of another workload. Null for anything else, byte for byte. */
export function readSshUser(name: string): SshUser | null {
  const found = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?:\+([a-z0-9][a-z0-9_-]{0,59}))?$/.exec(name)
  return found === null ? null : { slug: found[1]!, workload: found[2] ?? null }
}

export function sshUserOf(slug: string, workload: string | null): string {
  return workload === null ? slug : `${slug}+${workload}`
}

/** Variables of the client that a program gets; all others are passed over. */
export function takesVariable(name: string, value: string): boolean {
  return /^(LANG|LC_[A-Z]{1,20}|TERM)$/.test(name) && /^[\x20-\x7e]{1,200}$/.test(value)
}

/** Signals that a client may send to a program, as SSH names them. */
export function signalOf(name: string): NodeJS.Signals | null {
  return signals.includes(name) ? (`SIG${name}` as NodeJS.Signals) : null
}

const signals: readonly string[] = ['HUP', 'INT', 'KILL', 'QUIT', 'TERM', 'USR1', 'USR2', 'ALRM']

/** A port of a workload. */
export interface ReachablePort {
  readonly workload: string
  readonly port: string
  /** What it is called besides: name and type of a database. */
  readonly aliases: readonly string[]
  /** Numbers that mean it: of this machine, inside its container, and the usual one of its protocol. */
  readonly numbers: readonly number[]
}

/** Where a connection goes. */
export type Forward =
  | { readonly kind: 'workload'; readonly workload: string; readonly port: string }
  /** A program of the project listens there by itself, if anything does: whose it is must be asked. */
  | { readonly kind: 'loopback'; readonly port: number }
  | { readonly kind: 'refused'; readonly why: string }

/**
 * Only ports of the project are reached: by `localhost` and any of their numbers, or by the name of the workload. Names are compared,
 * never resolved.
 */
export function forwardOf(host: string, port: number, ports: readonly ReachablePort[]): Forward {
  if (!(Number.isInteger(port) && port >= 1 && port <= 65_535)) return refused(`${port} is no port.`)
  const name = host.toLowerCase().replace(/\.$/, '')
  if (loopback.has(name)) {
    // Numbers of this machine are one port’s alone; others may be those of two workloads.
    const exact = ports.filter(({ numbers }) => numbers[0] === port)
    const found = exact.length > 0 ? exact : ports.filter(({ numbers }) => numbers.includes(port))
    if (found.length > 1)
      return refused(
        `${port} is a port of ${found.map(({ workload }) => workload).join(' and of ')}: name one in place of ${host}.`,
      )
    const [one] = found
    if (one !== undefined) return { kind: 'workload', workload: one.workload, port: one.port }
    return port < 1024 ? refused(otherPlaces(ports)) : { kind: 'loopback', port }
  }
  const named = ports.filter(({ workload, aliases }) => workload === name || aliases.includes(name))
  if (named.length === 0) return refused(otherPlaces(ports))
  const [one, ...others] = named.filter(({ numbers }) => numbers.includes(port))
  if (one === undefined) {
    const known = named.map(({ numbers }) => `${name}:${numbers.at(-1)}`)
    return refused(`Nothing of "${name}" listens on ${port}. There is ${[...new Set(known)].join(', ')}.`)
  }
  if (others.length > 0)
    return refused(`"${name}" is ${named.map(({ workload }) => workload).join(' and ')}: use one of these names.`)
  return { kind: 'workload', workload: one.workload, port: one.port }
}

function otherPlaces(ports: readonly ReachablePort[]): string {
  const known = ports.map(({ workload, numbers }) => `${workload}:${numbers.at(-1)}`)
  const list = known.length === 0 ? 'It has none now.' : `There is ${known.join(', ')}.`
  return `Only ports of the project are reached, by localhost or by name. ${list}`
}

function refused(why: string): Forward {
  return { kind: 'refused', why }
}

const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1', '[::1]'])
