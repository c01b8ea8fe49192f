import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'

/*
 * Docker's own choice ends at some thirty networks, because each gets thousands of addresses. A project needs a few dozen at
 * most. Addresses are those of IPv4 here; of subnets in IPv6 nothing is taken and nothing is in the way.
 */

/** 61 containers: the network, its gateway and the broadcast have an address too. */
const SIZE = 26

/** Private (RFC 1918), and far from what home networks and Docker use by themselves: room for 8192 networks. */
export const USUAL_RANGES: readonly string[] = ['10.200.0.0/13']

interface Block {
  readonly first: number
  readonly last: number
}

/**
 * A subnet of one of the ranges that overlaps nothing that is taken; null when there is none. Where the search begins
 * is decided by the name, so that installations that do not know of each other seldom choose the same.
 */
export function chooseSubnet(name: string, ranges: readonly string[], taken: readonly string[]): string | null {
  const blocked = taken.flatMap((text) => parseBlock(text) ?? [])
  const start = createHash('sha256').update(name).digest().readUInt32BE()
  for (const range of ranges) {
    const block = parseBlock(range)
    if (block === null) continue
    const step = 2 ** (32 - SIZE)
    const count = Math.floor((block.last - block.first + 1) / step)
    for (let tried = 0; tried < count; tried++) {
      const first = block.first + ((start + tried) % count) * step
      const last = first + step - 1
      if (!blocked.some((other) => first <= other.last && other.first <= last)) return `${textOf(first)}/${SIZE}`
    }
  }
  return null
}

/** An address with its prefix as the network that it is in; null for one of IPv6. */
export function networkOf(text: string): string | null {
  const block = parseBlock(text)
  return block === null ? null : `${textOf(block.first)}/${text.split('/')[1]}`
}

/** A range is checked before an address is looked for in it. */
export function isRange(text: string): boolean {
  const block = parseBlock(text)
  return block !== null && block.last - block.first + 1 >= 2 ** (32 - SIZE)
}

function parseBlock(text: string): Block | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(text)
  if (match === null) return null
  const [a = 0, b = 0, c = 0, d = 0, bits = 0] = match.slice(1).map(Number)
  if (Math.max(a, b, c, d) > 255 || bits > 32) return null
  const size = 2 ** (32 - bits)
  const address = a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d
  const first = address - (address % size)
  return { first, last: first + size - 1 }
}

function textOf(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.')
}

/** Where this machine sends packets already: its interfaces, and what lies behind routers and tunnels. */
export function subnetsOfMachine(): string[] {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return [...own.flatMap(({ cidr }) => cidr ?? []), ...routesIn(readRoutes())]
}

/** Of `/proc/net/route`, whose numbers are hexadecimal in the order of this machine's bytes. The default route blocks none. */
export function routesIn(text: string): string[] {
  return text
    .trim()
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, destination = '', , , , , , mask = ''] = line.split(/\s+/)
      const bits = bytesOf(mask).reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0)
      return bits === 0 ? [] : [`${bytesOf(destination).join('.')}/${bits}`]
    })
}

const bytesOf = (hex: string) => [...Buffer.from(hex, 'hex')].reverse()

function readRoutes(): string {
  try {
    return readFileSync('/proc/net/route', 'latin1')
  } catch {
    return ''
  }
}
