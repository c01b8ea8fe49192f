export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01'

export interface ReachablePorts {
  /** Port 80 or 443 of the outside leads to our proxy: it listens there, or a person said that it is forwarded. */
  readonly http: boolean
  readonly https: boolean
}

export interface Refused {
  readonly code: 'port_80_elsewhere' | 'port_443_elsewhere' | 'wildcard_needs_dns'
  readonly detail: string
}

/** Why this challenge cannot prove these names here; null when it can. */
export function challengeRefusal(type: ChallengeType, names: readonly string[], ports: ReachablePorts): Refused | null {
  const wildcard = names.find(isWildcard)
  if (type !== 'dns-01' && wildcard !== undefined)
    return {
      code: 'wildcard_needs_dns',
      detail: `${wildcard} can only be proved with DNS-01. Choose DNS-01 with a DNS provider, or leave wildcards out.`,
    }
  if (type === 'http-01' && !ports.http)
    return {
      code: 'port_80_elsewhere',
      detail:
        'HTTP-01 is asked at port 80, which is not the proxy’s. Let the proxy listen there, or forward port 80 to it and say so in the settings, or choose DNS-01.',
    }
  if (type === 'tls-alpn-01' && !ports.https)
    return {
      code: 'port_443_elsewhere',
      detail:
        'TLS-ALPN-01 is asked at port 443, which is not the proxy’s. Let the proxy listen there, or forward port 443 to it and say so in the settings, or choose DNS-01.',
    }
  return null
}

export function isWildcard(name: string): boolean {
  return name.startsWith('*.')
}

/** Names that no public certificate authority gives a certificate for (RFC 2606, 6761, 6762, 7686, 8375, 9476; ICANN's internal). */
const notPublic = new Set([
  'localhost',
  'local',
  'test',
  'example',
  'invalid',
  'onion',
  'internal',
  'home',
  'corp',
  'lan',
  'alt',
  'arpa',
])

export function isPublicName(name: string): boolean {
  const labels = (isWildcard(name) ? name.slice(2) : name).split('.')
  const top = labels.at(-1) ?? ''
  return labels.length >= 2 && labels.every(isLabel) && !notPublic.has(top) && !/^\d+$/.test(top)
}

function isLabel(label: string): boolean {
  return /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?$/.test(label)
}

/** Most names of one certificate that authorities take. */
export const mostNames = 100

/** As they are ordered: lower case, each once, sorted; a name that a wildcard of the same list covers is left out. */
export function normalNames(names: readonly string[]): readonly string[] {
  const all = new Set(names.map((name) => name.toLowerCase().replace(/\.$/, '')))
  return [...all].filter((name) => isWildcard(name) || !all.has(`*.${name.slice(name.indexOf('.') + 1)}`)).sort()
}

/** The host under which DNS-01 puts its record. */
export function recordName(name: string): string {
  return `_acme-challenge.${isWildcard(name) ? name.slice(2) : name}`
}
