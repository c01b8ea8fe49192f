import { existsSync } from 'node:fs'
import { runFirewall } from './firewall-program.ts'
import type { WallWriter } from './nft-walls.ts'
import { type PortRules, portRules, type UidRange } from './port-rules.ts'

/**
 * The same with iptables and its owner match, where there is no nft: chains of its own for IPv4 and IPv6, and one jump to
 * them. New connections of projects alone pass through all of it, a rule for each project; so it costs more than sets do.
 */
export function iptablesWalls(instance: string, uids: UidRange): WallWriter {
  const chain = `stackquay_${instance}`

  return {
    kind: 'iptables',
    async attempt() {
      const trial = `${chain}_try`
      for (const family of families()) {
        await restore(family, chainText(trial, portRules([{ port: 1, uid: 1 }], uids)))
        await restore(family, gone(trial))
      }
    },
    async write(rules) {
      for (const family of families()) {
        const jumps = jumpsIn(await list(family), chain)
        await restore(family, [...chainText(chain, rules), ...(jumps.isRight ? [] : onlyJump(chain, jumps.count))])
      }
    },
    async remove() {
      for (const family of families()) {
        const lines = await list(family)
        if (!lines.includes(`-N ${chain}`)) continue
        const jumps = Array<string>(jumpsIn(lines, chain).count).fill(`-D OUTPUT -o lo -j ${chain}`)
        await restore(family, [...jumps, ...gone(chain)])
      }
    },
  }
}

type Family = 'iptables' | 'ip6tables'

function families(): readonly Family[] {
  return existsSync('/proc/net/if_inet6') ? ['iptables', 'ip6tables'] : ['iptables']
}

const LOCK = ['-w', '10'] as const

async function list(family: Family): Promise<readonly string[]> {
  return (await runFirewall([family, ...LOCK, '-t', 'filter', '-S'])).split('\n')
}

/** One transaction; chains that are not named in it stay as they are. */
async function restore(family: Family, lines: readonly string[]): Promise<void> {
  await runFirewall([`${family}-restore`, ...LOCK, '--noflush'], ['*filter', ...lines, 'COMMIT', ''].join('\n'))
}

/** A jump counts only in front of all that others put there: one of those may accept everything over loopback. */
function jumpsIn(lines: readonly string[], chain: string): { readonly count: number; readonly isRight: boolean } {
  const jump = `-A OUTPUT -o lo -j ${chain}`
  const output = lines.filter((line) => line.startsWith('-A OUTPUT '))
  const count = output.filter((line) => line === jump).length
  const before = output.slice(0, output.indexOf(jump))
  return { count, isRight: count === 1 && before.every((line) => line.startsWith('-A OUTPUT -o lo -j stackquay_')) }
}

function onlyJump(chain: string, there: number): string[] {
  return [...Array<string>(there).fill(`-D OUTPUT -o lo -j ${chain}`), `-I OUTPUT 1 -o lo -j ${chain}`]
}

/** These rules let through the same callers as those of nft-walls.ts. */
function chainText(chain: string, { ports, pairs, outside }: PortRules): string[] {
  const own = [...portsByUid(pairs)].flatMap(([uid, list]) =>
    multiports(list.map(String)).map((some) => ({ uid, some })),
  )
  const leased = multiports(ranges([...ports]))
  const rules = (name: string, list: readonly string[]) => list.map((rule) => `-A ${name} ${rule}`)
  const ownRules = (protocol: string, side: string) =>
    own.map(({ uid, some }) => `-p ${protocol} -m owner --uid-owner ${uid} -m multiport --${side} ${some} -j RETURN`)
  return [
    `:${chain} - [0:0]`,
    `:${answers(chain)} - [0:0]`,
    ...rules(chain, [
      '-p tcp -m tcp ! --tcp-flags SYN SYN -j RETURN',
      ...outside.map(({ from, to }) => `-m owner --uid-owner ${from}-${to} -j RETURN`),
      `-p tcp -m tcp --tcp-flags ACK ACK -g ${answers(chain)}`,
      ...ownRules('tcp', 'dports'),
      ...ownRules('udp', 'dports'),
      ...leased.map((some) => `-p tcp -m multiport --dports ${some} -j REJECT --reject-with tcp-reset`),
      ...leased.map((some) => `-p udp -m multiport --dports ${some} -j REJECT`),
    ]),
    ...rules(answers(chain), [
      ...ownRules('tcp', 'sports'),
      ...leased.map((some) => `-p tcp -m multiport --sports ${some} -j DROP`),
    ]),
  ]
}

const answers = (chain: string) => `${chain}_a`

function gone(chain: string): string[] {
  return [`-F ${chain}`, `-F ${answers(chain)}`, `-X ${chain}`, `-X ${answers(chain)}`]
}

function portsByUid(pairs: PortRules['pairs']): ReadonlyMap<string, number[]> {
  const found = new Map<string, number[]>()
  for (const pair of pairs) {
    const [port = '', uid = ''] = pair.split(' ')
    found.set(uid, [...(found.get(uid) ?? []), Number(port)])
  }
  return found
}

/** Neighbours as one: leases lie close together, so thousands are a few ranges. */
function ranges(ports: readonly number[]): string[] {
  const found: [number, number][] = []
  for (const port of ports.toSorted((a, b) => a - b)) {
    const current = found.at(-1)
    if (current !== undefined && current[1] === port - 1) current[1] = port
    else found.push([port, port])
  }
  return found.map(([from, to]) => (from === to ? `${from}` : `${from}:${to}`))
}

/** The match takes 15 ports, of which a range counts as two. */
function multiports(list: readonly string[]): string[] {
  const found: string[] = []
  for (let at = 0; at < list.length; at += 7) found.push(list.slice(at, at + 7).join(','))
  return found
}
