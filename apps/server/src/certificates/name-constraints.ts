import { isIPv4 } from 'node:net'

/** Names and addresses that certificates below may have, as the extension of RFC 5280, 4.2.1.10, in DER. */
export function nameConstraints(domains: readonly string[], blocks: readonly string[]): Buffer {
  const names = domains.map((domain) => element(0x82, Buffer.from(domain, 'ascii')))
  const addresses = blocks.map((block) => element(0x87, blockBytes(block)))
  const subtrees = [...names, ...addresses].map((base) => element(0x30, base))
  return element(0x30, element(0xa0, Buffer.concat(subtrees)))
}

export const nameConstraintsId = '2.5.29.30'

function element(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

/** An address and its mask, one behind the other. */
function blockBytes(block: string): Buffer {
  const [address = '', prefix = ''] = block.split('/')
  const bytes = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address)
  const mask = Buffer.from(bytes.map((_, index) => maskByte(Number(prefix) - index * 8)))
  return Buffer.concat([bytes.map((byte, index) => byte & mask[index]!), mask])
}

function maskByte(bits: number): number {
  return bits >= 8 ? 0xff : bits <= 0 ? 0 : (0xff << (8 - bits)) & 0xff
}

function ipv6Bytes(address: string): Buffer {
  const [front = '', back = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const [first, last] = [groups(front), groups(back)]
  const all = [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}
