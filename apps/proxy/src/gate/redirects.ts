import type { RouteRedirect } from '../route-table.ts'
import type { Rule } from './rule.ts'

/** The first that matches counts. A query goes along unless the target has one of its own. */
export function redirectGate(redirects: readonly RouteRedirect[]): Rule {
  const exact = new Map<string, { readonly redirect: RouteRedirect; readonly index: number }[]>()
  const open: { readonly redirect: RouteRedirect; readonly index: number }[] = []
  for (const [index, redirect] of redirects.entries()) {
    if (redirect.from.endsWith('*')) open.push({ redirect, index })
    else exact.set(redirect.from, [...(exact.get(redirect.from) ?? []), { redirect, index }])
  }
  return {
    check: ({ path: whole, host }) => {
      const cut = whole.search(/[?#]/)
      const path = cut === -1 ? whole : whole.slice(0, cut)
      const query = cut === -1 || whole[cut] === '#' ? '' : whole.slice(cut)
      const one = exact.get(path)?.find(({ redirect }) => hostFits(redirect.host, host))
      const other = open.find(
        ({ redirect: { from, host: wanted } }) => path.startsWith(from.slice(0, -1)) && hostFits(wanted, host),
      )
      const found = one === undefined ? other : other === undefined || one.index < other.index ? one : other
      if (found === undefined) return null
      const { from, to, status } = found.redirect
      const target = to.endsWith('*') ? to.slice(0, -1) + path.slice(from.length - 1) : to
      const location = safePath(target.includes('?') ? target : target + query)
      return {
        status,
        headers: [
          ['location', location],
          ['cache-control', 'no-cache'],
        ],
        error: null,
      }
    },
  }
}

/**
 * A bit for the second letter of each path, modulo 32, or all of them: most requests need not look at any redirect. None for
 * a path without one.
 */
export function placesOf(redirects: readonly RouteRedirect[]): number {
  return redirects.reduce((bits, { from }) => bits | (from.endsWith('*') && from.length < 3 ? -1 : placeOf(from)), 0)
}

export function mayRedirect(places: number, path: string): boolean {
  return (places & placeOf(path)) !== 0
}

function placeOf(path: string): number {
  const code = path.charCodeAt(1)
  return 1 << (Number.isNaN(code) || code === questionMark || code === hash ? 0 : code % 32)
}

const questionMark = 0x3f
const hash = 0x23

function hostFits(wanted: string | null, host: string): boolean {
  if (wanted === null) return true
  return wanted.startsWith('*.') ? host.slice(host.indexOf('.')) === wanted.slice(1) : host === wanted
}

/** A part that is carried over must not turn a path into another host: `/*` with `//evil.example` behind it. */
function safePath(location: string): string {
  return location.startsWith('/') ? `/${location.replace(/^[/\\]+/, '')}` : location
}
