import type { ProxyRules } from '@stackquay/contract/schemas/network'

type Redirect = ProxyRules['redirects'][number]

/** A redirect that, with the others, leads a browser round in circles: which, and how. */
export interface RedirectLoop {
  readonly index: number
  readonly detail: string
}

/** Browsers give up after about twenty. */
const mostHops = 20

/**
 * Follows each redirect from a path that it takes, on every host of the project, for as long as redirects of the project take
 * over. The first match is used, as in the proxy.
 */
export function redirectLoops(redirects: readonly Redirect[], hosts: readonly string[]): readonly RedirectLoop[] {
  const known = [...new Set([...hosts, ...redirects.flatMap(({ host }) => (host == null ? [] : [host]))])].map(
    exampleOf,
  )
  // Found once for all that pass by: five hundred redirects on as many hosts are a quarter of a million places.
  const ending = new Set<string>()
  return redirects.flatMap((redirect, index) => {
    const starts = redirect.host == null ? known : [exampleOf(redirect.host)]
    const way = (starts.length === 0 ? ['project'] : starts)
      .values()
      .map((host) => wayFrom(host, exampleOf(redirect.from), redirects, known, ending))
      .find((one) => one !== null)
    return way === undefined || way === null
      ? []
      : [{ index, detail: `It leads back to where it began: ${way.join(' → ')}.` }]
  })
}

/** The places of a circle, or null when the way ends. */
function wayFrom(
  host: string,
  path: string,
  redirects: readonly Redirect[],
  known: readonly string[],
  ending: Set<string>,
): readonly string[] | null {
  const way: string[] = []
  const ends = () => {
    for (const one of way) ending.add(one)
    return null
  }
  let place = { host, path }
  for (let hop = 0; hop <= mostHops; hop += 1) {
    const text = `${place.host}${place.path}`
    if (ending.has(text)) return ends()
    const seen = way.indexOf(text)
    way.push(text)
    if (seen !== -1) return way.slice(seen)
    const found = redirects.find((redirect) => matches(redirect, place.host, place.path))
    if (found === undefined) return ends()
    const target = targetOf(found, place.path)
    if (target.startsWith('/')) place = { host: place.host, path: pathOf(target) }
    else {
      const address = URL.parse(target)
      // Other hosts are not ours to follow.
      if (address === null || !known.includes(address.hostname)) return ends()
      place = { host: address.hostname, path: address.pathname }
    }
  }
  // It grows at every turn: /a/* → /a/b/*.
  return way.slice(0, 4)
}

export function matches(redirect: Pick<Redirect, 'from' | 'host'>, host: string, path: string): boolean {
  if (redirect.host != null && !hostFits(redirect.host, host)) return false
  const { from } = redirect
  return from.endsWith('*') ? path.startsWith(from.slice(0, -1)) : path === from
}

function hostFits(wanted: string, host: string): boolean {
  return wanted.startsWith('*.') ? host.slice(host.indexOf('.')) === wanted.slice(1) : host === wanted
}

function targetOf({ from, to }: Redirect, path: string): string {
  return to.endsWith('*') ? to.slice(0, -1) + path.slice(from.length - 1) : to
}

/** A place that a pattern takes. */
function exampleOf(pattern: string): string {
  return pattern.replace('*', 'x')
}

function pathOf(target: string): string {
  return target.split(/[?#]/, 1)[0] ?? target
}
