import type { FieldError } from '@stackquay/contract'
import type { Maintenance, ProxyRules } from '@stackquay/contract/schemas/network'
import { readAddressRange } from './address-range.ts'
import { readHostName } from './host-name.ts'
import { redirectLoops } from './redirect-loops.ts'

/** The rules of a body without its password, which the caller turns into a hash. */
export type RulesInput = Omit<ProxyRules, 'basicAuth'>

export type CheckedRules =
  | { readonly ok: true; readonly rules: RulesInput }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

/**
 * The rules as they are kept: addresses and hosts in one spelling. Or everything that is wrong with them at once. `hosts` are
 * the names of the project, for redirects that lead back to where they came from.
 */
export function checkRules(input: RulesInput, hosts: readonly string[]): CheckedRules {
  const errors: FieldError[] = []
  const wrong = (pointer: string, code: string, detail: string) => void errors.push({ pointer, code, detail })

  const allowIps = checkAddresses(input.allowIps, '/allowIps', wrong)
  const redirects = input.redirects.map((redirect, index) => checkRedirect(redirect, `/redirects/${index}`, wrong))
  if (errors.length === 0) {
    for (const { index, detail } of redirectLoops(redirects, hosts))
      wrong(`/redirects/${index}`, 'redirect_loop', detail)
  }
  checkHeaders(input.requestHeaders, '/requestHeaders', ownRequestHeaders, wrong)
  checkHeaders(input.responseHeaders, '/responseHeaders', ownResponseHeaders, wrong)
  const cors = input.cors === null ? null : checkCors(input.cors, wrong)

  const maintenance = input.maintenance === undefined ? undefined : checkMaintenance(input.maintenance, wrong)

  if (errors.length > 0) return { ok: false, errors }
  const { signIn, requestHeaders, responseHeaders } = input
  return {
    ok: true,
    rules: {
      ...{ signIn, allowIps: [...new Set(allowIps)], redirects, requestHeaders, responseHeaders, cors },
      ...(maintenance === undefined ? {} : { maintenance }),
    },
  }
}

type Wrong = (pointer: string, code: string, detail: string) => void
type Redirect = RulesInput['redirects'][number]

function checkAddresses(addresses: readonly string[], at: string, wrong: Wrong): string[] {
  return addresses.map((text, index) => {
    const read = readAddressRange(text)
    if (!read.ok) wrong(`${at}/${index}`, 'not_an_address', read.detail)
    return read.ok ? read.range : text
  })
}

function checkMaintenance({ message, allowIps, ...rest }: Maintenance, wrong: Wrong): Maintenance {
  const text = message?.trim() ?? ''
  const addresses = [...new Set(checkAddresses(allowIps ?? [], '/maintenance/allowIps', wrong))]
  return {
    ...rest,
    ...(addresses.length === 0 ? {} : { allowIps: addresses }),
    ...(text === '' ? {} : { message: text }),
  }
}

function checkRedirect(redirect: Redirect, at: string, wrong: Wrong): Redirect {
  const from = asSent(redirect.from)
  const to = asSent(redirect.to)
  if (!/^\/[^?#\p{Cc}\s]*$/u.test(from) || from.slice(0, -1).includes('*'))
    wrong(`${at}/from`, 'not_a_path', 'It must be a path such as "/old"; a "*" may only stand at its end.')
  const isPath = /^\/(?![/\\])/.test(to)
  // Two slashes and a name: browsers read a name also behind one slash, or three.
  const address = /^https?:\/\/[^/\\]/i.test(to) ? URL.parse(to) : null
  if (/[\p{Cc}\s]/u.test(to) || (!isPath && address === null))
    wrong(`${at}/to`, 'not_an_address', 'It must be a path such as "/new", or an http or https address.')
  if (to.slice(0, -1).includes('*')) wrong(`${at}/to`, 'not_an_address', 'A "*" may only stand at its end.')
  if (to.endsWith('*') && !from.endsWith('*'))
    wrong(`${at}/to`, 'nothing_to_carry', 'Its "*" stands for what the "*" of "from" stood for, and "from" has none.')
  // Behind a bare host the rest would become part of the name: https://example.org* with /evil.com.
  if (
    to.endsWith('*') &&
    address !== null &&
    !to
      .replace(/^https?:\/\//i, '')
      .slice(0, -1)
      .includes('/')
  )
    wrong(`${at}/to`, 'not_an_address', 'Write "/" before "*": https://example.org/*.')
  const kept = { ...redirect, from, to }
  if (redirect.host == null) return { ...kept, host: null }
  const host = readHostName(redirect.host)
  if (!host.ok) wrong(`${at}/host`, host.code, host.detail)
  return { ...kept, host: host.ok ? host.host : redirect.host }
}

/** As browsers send it and headers carry it: `/b%C3%BCro`, `https://xn--bcher-kva.example/`. */
function asSent(text: string): string {
  if (/^[\x00-\x7f]*$/.test(text)) return text
  const address = /^https?:/i.test(text) ? URL.parse(text) : null
  return address?.href ?? text.toWellFormed().replace(/[^\x00-\x7f]+/g, (part) => encodeURIComponent(part))
}

function checkHeaders(headers: RulesInput['requestHeaders'], at: string, own: ReadonlySet<string>, wrong: Wrong): void {
  const seen = new Set<string>()
  for (const [index, { name, value }] of headers.entries()) {
    const lower = name.toLowerCase()
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name))
      wrong(`${at}/${index}/name`, 'not_a_header', `${JSON.stringify(name)} is no name of a header.`)
    // `Content_Length`: what a CGI or WSGI program would take for the real one.
    else if (own.has(lower.replaceAll('_', '-')))
      wrong(
        `${at}/${index}/name`,
        'not_allowed',
        `The header "${name}" is the proxy’s own: it says how the connection works.`,
      )
    else if (seen.has(lower))
      wrong(
        `${at}/${index}/name`,
        'twice',
        `The header "${name}" stands here twice. Put its values into one, with commas.`,
      )
    seen.add(lower)
    if (value !== null && !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      wrong(`${at}/${index}/value`, 'not_a_header', 'A value is one line of text in Latin letters.')
  }
}

/** How a message is framed and where it goes: a rule on these would let one request be read as two. */
const framing = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
]
const ownRequestHeaders: ReadonlySet<string> = new Set([
  ...framing,
  'host',
  'expect',
  'http2-settings',
  'forwarded',
  'x-real-ip',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
])
const ownResponseHeaders: ReadonlySet<string> = new Set([...framing, 'date'])

function checkCors(cors: NonNullable<RulesInput['cors']>, wrong: Wrong): NonNullable<RulesInput['cors']> {
  const origins = cors.origins.map((origin, index) => {
    if (origin === '*') {
      if (cors.origins.length > 1)
        wrong(`/cors/origins/${index}`, 'not_alone', '"*" stands for all origins: leave out the others.')
      if (cors.credentials)
        wrong(
          '/cors/credentials',
          'not_with_all',
          'Browsers refuse credentials together with the origin "*". Name the origins.',
        )
      return origin
    }
    const parsed = URL.parse(origin)
    if (
      parsed !== null &&
      /^https?:$/.test(parsed.protocol) &&
      parsed.origin.toLowerCase() === origin.toLowerCase().replace(/\/$/, '')
    )
      return parsed.origin
    wrong(
      `/cors/origins/${index}`,
      'not_an_origin',
      `${JSON.stringify(origin.slice(0, 80))} is no origin: scheme, host and port alone, such as https://app.example.org.`,
    )
    return origin
  })
  for (const field of ['headers', 'exposeHeaders'] as const) {
    for (const [index, name] of cors[field].entries()) {
      if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name))
        wrong(`/cors/${field}/${index}`, 'not_a_header', `${JSON.stringify(name)} is no name of a header.`)
    }
  }
  return { ...cors, origins: [...new Set(origins)] }
}
