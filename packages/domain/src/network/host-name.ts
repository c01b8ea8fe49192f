import { isIP } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'

/** A host name as it is looked up, or why a text is none. */
export type HostNameResult =
  | { readonly ok: true; readonly host: string }
  | { readonly ok: false; readonly code: string; readonly detail: string }

/** What names the instance itself hands out. */
export interface OwnNames {
  /** `localhost`, `dev.example.org`: projects are `<slug>.<base>`. */
  readonly baseDomain: string
}

/**
 * The name in lower case and ASCII (IDNA, by WHATWG URL rules as browsers do it), without a trailing dot. `*.` may stand
 * in front and stands for exactly one label, as in certificates.
 */
export function readHostName(text: string): HostNameResult {
  const trimmed = text.trim().replace(/\.$/, '')
  const wildcard = trimmed.startsWith('*.')
  const name = wildcard ? trimmed.slice(2) : trimmed
  if (/[/:@?#\\\s%[\]]/.test(name)) {
    return wrong('not_a_host_name', `${quoted(text)} is no host name: leave out scheme, port and path.`)
  }
  if (name.includes('*'))
    return wrong('not_a_host_name', `In ${quoted(text)} a "*" may only stand alone in front: *.example.org.`)
  const ascii = domainToASCII(name)
  if (ascii === '' || !labels.test(ascii)) {
    return wrong(
      'not_a_host_name',
      `${quoted(text)} is no host name. It has letters, digits and "-", with dots between.`,
    )
  }
  // `1.2.3.4`, but also what browsers read as an address: `127.1`, `0x7f.1`.
  if (isIP(ascii) !== 0 || /(^|\.)(\d+|0x[0-9a-f]*)$/.test(ascii))
    return wrong('not_a_host_name', `${quoted(text)} is an address, not a name.`)
  if (ascii.length > 253) return wrong('not_a_host_name', `${quoted(text)} is longer than 253 characters.`)
  if (ascii.split('.').some((label) => label.length > 63))
    return wrong('not_a_host_name', `A part of ${quoted(text)} is longer than 63 characters.`)
  if (wildcard && !ascii.includes('.'))
    return wrong(
      'not_a_host_name',
      `${quoted(text)} would be every name below "${ascii}". Name at least two parts: *.example.org.`,
    )
  return { ok: true, host: wildcard ? `*.${ascii}` : ascii }
}

/** As a person reads it: `bücher.example` for `xn--bcher-kva.example`. */
export function displayOf(host: string): string {
  return host.startsWith('*.') ? `*.${domainToUnicode(host.slice(2))}` : domainToUnicode(host)
}

/**
 * Why a project may not add this name; null when it may. `<slug>.<base>` belongs to the project of that slug, even before it
 * exists, and names of shares to shares; names below the project's own are its to use.
 */
export function ownNameBlocker(host: string, slug: string, { baseDomain }: OwnNames): string | null {
  const plain = host.replace(/^\*\./, '')
  if (plain === baseDomain) return `"${host}" is the domain under which all projects are.`
  if (!plain.endsWith(`.${baseDomain}`)) return null
  const own = `${slug}.${baseDomain}`
  const first = plain.slice(0, -baseDomain.length - 1).split('.')
  if (host === own) return `"${host}" is the project’s own name already.`
  if (plain === own || plain.endsWith(`.${own}`)) return null
  if (first.at(-1) === 'share') return `Names below "share.${baseDomain}" are those of shares.`
  return `Names below "${baseDomain}" belong to the projects of that name. Below this project’s own, such as "api.${own}", any is possible.`
}

/** Labels of letters, digits, "-" and, because many programs do so, "_"; neither begins nor ends with "-". */
const labels = /^(?!-)[a-z0-9_-]+(?<!-)(\.(?!-)[a-z0-9_-]+(?<!-))*$/

function wrong(code: string, detail: string): HostNameResult {
  return { ok: false, code, detail }
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
