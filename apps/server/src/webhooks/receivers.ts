import { BlockList, isIP } from 'node:net'

/**
 * Services of the own network are good receivers, so private addresses are allowed. Addresses at which clouds answer whoever
 * asks from the machine, with its credentials, are not, nor is anything link-local; whichever way the address is written.
 */
export function addressBlocker(host: string): string | null {
  return isRefusedAddress(host)
    ? `Events are not sent to ${host}: it belongs to the machine itself, not to a receiver.`
    : null
}

/** The rule for whatever connects to an address that somebody named. */
export function isRefusedAddress(host: string): boolean {
  const address = host.replace(/%.*$/, '')
  const version = isIP(address)
  if (version === 0) return isRefusedName(host)
  // Knows an IPv4 address mapped into IPv6, and no zones.
  return version === 4
    ? noReceivers.check(address, 'ipv4')
    : noReceivers.check(address, 'ipv6') || embeddedIpv4(address).some((inner) => noReceivers.check(inner, 'ipv4'))
}

/** Names that only mean the machine’s own credentials, wherever they lead. A dot at the end changes nothing. */
function isRefusedName(host: string): boolean {
  return metadataNames.has(host.toLowerCase().replace(/\.$/, ''))
}

const metadataNames: ReadonlySet<string> = new Set([
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'instance-data.ec2.internal',
])

/**
 * IPv4 addresses that one of IPv6 may stand for: translated by NAT64 (RFC 6052, RFC 8215) or SIIT (RFC 2765), tunnelled by 6to4
 * (RFC 3056) or ISATAP (RFC 5214), or compatible in the old way (RFC 4291). A network may translate under a prefix of its
 * own, which nothing tells.
 */
function embeddedIpv4(address: string): readonly string[] {
  const groups = groupsOf(address)
  const starts = (...wanted: readonly number[]) => wanted.every((group, at) => groups[at] === group)
  const last = dotted(groups[6]!, groups[7]!)
  // With a prefix of 48 bits the address stands around the ninth byte.
  if (starts(0x64, 0xff9b, 1)) {
    const [third = 0, fourth = 0] = [groups[4]!, groups[5]!]
    return [last, dotted(groups[3]!, ((third & 255) << 8) | (fourth >> 8))]
  }
  if (starts(0x64, 0xff9b)) return [last]
  if (starts(0x2002)) return [dotted(groups[1]!, groups[2]!)]
  if (starts(0, 0, 0, 0, 0xffff, 0) || groups[5] === 0x5efe) return [last]
  // `::` and `::1` are no IPv4 addresses.
  return starts(0, 0, 0, 0, 0, 0) && groups[6] !== 0 ? [last] : []
}

/** The eight groups of an address that is known to be one. */
function groupsOf(address: string): readonly number[] {
  const withoutDots = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a: string, b: string, c: string, d: string) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
  )
  const [head = '', tail] = withoutDots.split('::')
  const read = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const left = read(head)
  const right = read(tail ?? '')
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

const noReceivers = new BlockList()
/** AWS, GCP, Azure, OpenStack, DigitalOcean (.254), containers of AWS (ECS .170.2, EKS .170.23), and all that is link-local. */
noReceivers.addSubnet('169.254.0.0', 16, 'ipv4')
noReceivers.addSubnet('fe80::', 10, 'ipv6')
/** AWS over IPv6: fd00:ec2::254, EKS fd00:ec2::23, time and names beside them. */
noReceivers.addSubnet('fd00:ec2::', 32, 'ipv6')
/** GCP over IPv6. */
noReceivers.addSubnet('fd20:ce::', 32, 'ipv6')
/** Alibaba. */
noReceivers.addAddress('100.100.100.200', 'ipv4')
/** Oracle. */
noReceivers.addAddress('192.0.0.192', 'ipv4')
/** Azure’s own services, which hand out certificates and secrets of a machine. */
noReceivers.addAddress('168.63.129.16', 'ipv4')
/** Scaleway, IPv6. */
noReceivers.addAddress('fd00:42::42', 'ipv6')
/** This machine, or none. */
noReceivers.addSubnet('0.0.0.0', 8, 'ipv4')
noReceivers.addAddress('::', 'ipv6')
/** Everybody on the network. */
noReceivers.addSubnet('224.0.0.0', 4, 'ipv4')
noReceivers.addAddress('255.255.255.255', 'ipv4')
noReceivers.addSubnet('ff00::', 8, 'ipv6')
