import { randomInt } from 'node:crypto'
import { FirewallError, runFirewall } from './firewall-program.ts'
import { type PortRules, portRules, type UidRange } from './port-rules.ts'

/** One way to write walls into the kernel. */
export interface WallWriter {
  readonly kind: 'nft' | 'iptables'
  /** Makes an object like the real one and removes it again. Rejects with the reason when that is not possible here. */
  attempt(): Promise<void>
  /** Everything becomes as these rules say, at once or not at all, whatever was there before. */
  write(rules: PortRules): Promise<void>
  /** Nothing there is a success. */
  remove(): Promise<void>
}

/**
 * A table of its own with a hook of its own: no other table is read or written. The hook comes before destinations are rewritten
 * (Docker does that at -100), so a published port counts by the number that the caller named.
 */
const PRIORITY = -150
/** A generation number as an element: adding to a table that another process made anew fails instead of leaving most of it out. */
const MOST_GENERATIONS = 2 ** 31

export function nftWalls(instance: string, uids: UidRange): WallWriter {
  const table = `inet stackquay_${instance}`
  let last: { readonly rules: PortRules; readonly generation: number } | null = null

  return {
    kind: 'nft',
    async attempt() {
      const trial = `${table}_try`
      await nft(wholeTable(trial, portRules([], uids), 1))
      await nft(`delete table ${trial}`)
    },
    async write(rules) {
      const before = last
      last = null
      const generation = before === null ? randomInt(1, MOST_GENERATIONS) : before.generation + 1
      const changed = before === null ? null : await nft(changes(table, before, { rules, generation })).catch(refused)
      // Also when the table is another one than was written last: it is made whole again.
      if (changed === null) await nft(wholeTable(table, rules, generation))
      last = { rules, generation }
    },
    async remove() {
      last = null
      await nft(`add table ${table}\ndelete table ${table}`)
    },
  }
}

function nft(text: string): Promise<string> {
  return runFirewall(['nft', '-f', '-'], `${text}\n`)
}

function refused(error: unknown): null {
  if (error instanceof FirewallError && !error.isMissing) return null
  throw error
}

/** One transaction: the old table is there until the new one is. */
function wholeTable(table: string, { ports, pairs, outside }: PortRules, generation: number): string {
  return [
    `add table ${table}`,
    `delete table ${table}`,
    `add table ${table}`,
    `add set ${table} leased { type inet_service; }`,
    `add set ${table} own { type inet_service . uid; }`,
    `add set ${table} generation { type mark; }`,
    `add element ${table} generation { ${generation} }`,
    ...elements('add', `${table} leased`, [...ports].map(String)),
    ...elements('add', `${table} own`, [...pairs].map(concatenated)),
    `add chain ${table} callers`,
    `add chain ${table} answers`,
    `add chain ${table} output { type filter hook output priority ${PRIORITY}; policy accept; }`,
    ...rulesOf(table, outside),
  ].join('\n')
}

/** The rules are written each time: another process may have flushed the chains and left the sets. */
function changes(
  table: string,
  before: { readonly rules: PortRules; readonly generation: number },
  next: { readonly rules: PortRules; readonly generation: number },
): string {
  const less = (from: ReadonlySet<number | string>, what: ReadonlySet<number | string>) =>
    [...from].filter((one) => !what.has(one)).map((one) => concatenated(String(one)))
  return [
    `delete element ${table} generation { ${before.generation} }`,
    `add element ${table} generation { ${next.generation} }`,
    ...elements('delete', `${table} leased`, less(before.rules.ports, next.rules.ports)),
    ...elements('delete', `${table} own`, less(before.rules.pairs, next.rules.pairs)),
    ...elements('add', `${table} leased`, less(next.rules.ports, before.rules.ports)),
    ...elements('add', `${table} own`, less(next.rules.pairs, before.rules.pairs)),
    `flush chain ${table} output`,
    `flush chain ${table} callers`,
    `flush chain ${table} answers`,
    ...rulesOf(table, next.rules.outside),
  ].join('\n')
}

/**
 * Looked at is what opens a connection (SYN), what accepts one (SYN with ACK), and every datagram: later packets of TCP leave after two
 * comparisons. A project that listens on another's port is not heard, so no caller that trusts the port is led to it. Refused callers are
 * answered at once; who called the wrong listener waits for an answer, as there is no way to send one in place of the listener.
 *
 * Who is let through is named, not who is refused: a socket whose user the kernel does not report counts as a project's.
 */
function rulesOf(table: string, outside: readonly UidRange[]): string[] {
  const isOutside = `meta skuid { ${outside.map(({ from, to }) => (from === to ? from : `${from}-${to}`)).join(', ')} } accept`
  const chain = (name: string, rules: readonly string[]) => rules.map((rule) => `add rule ${table} ${name} ${rule}`)
  return [
    ...chain('output', [
      'oifname != "lo" accept',
      'meta l4proto tcp tcp flags & syn == 0 accept',
      'meta l4proto tcp tcp flags & ack == ack goto answers',
      'th dport @leased goto callers',
    ]),
    ...chain('callers', [
      isOutside,
      'th dport . meta skuid @own accept',
      'meta l4proto tcp reject with tcp reset',
      'reject with icmpx type port-unreachable',
    ]),
    ...chain('answers', ['tcp sport != @leased accept', isOutside, 'tcp sport . meta skuid @own accept', 'drop']),
  ]
}

function elements(act: 'add' | 'delete', set: string, list: readonly string[]): string[] {
  return list.length === 0 ? [] : [`${act} element ${set} { ${list.join(', ')} }`]
}

const concatenated = (pair: string) => pair.replace(' ', ' . ')
