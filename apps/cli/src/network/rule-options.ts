import type { ProxyRules } from '@stackquay/contract'
import type { Command } from 'commander'
import { usageError } from '../errors.ts'
import { eachOf, wholeNumber } from '../options.ts'
import type { RulesBody } from './change-rules.ts'

export interface RuleFlags {
  readonly signIn?: boolean
  readonly allow?: readonly string[]
  readonly password?: string
  readonly redirect?: readonly string[]
  readonly requestHeader?: readonly string[]
  readonly responseHeader?: readonly string[]
  readonly corsOrigin?: readonly string[]
  readonly corsMethod?: readonly string[]
  readonly corsHeader?: readonly string[]
  readonly corsExpose?: readonly string[]
  readonly corsCredentials?: boolean
  readonly corsMaxAge?: string
}

export function addRuleOptions(command: Command): Command {
  return command
    .option('--sign-in', 'let in only people who are signed in and may read the project')
    .option('--allow <addresses>', 'let in only these: 203.0.113.7, 10.0.0.0/8, 2001:db8::/32', eachOf)
    .option('--password <user>', 'ask visitors for this user name and a password')
    .option('--redirect <rule>', '"/old -> /new", "/blog/* -> https://blog.example/*", a status behind: [301]', eachOf)
    .option('--request-header <line>', '"X-From: proxy" on the way in; "X-From:" removes it', eachOf)
    .option('--response-header <line>', 'the same on the way back', eachOf)
    .option('--cors-origin <origin>', 'pages of this origin may read answers; "*" for all', eachOf)
    .option('--cors-method <method>', 'a method that they may use', eachOf)
    .option('--cors-header <name>', 'a request header that they may send', eachOf)
    .option('--cors-expose <name>', 'a response header that they may read', eachOf)
    .option('--cors-credentials', 'they may send cookies and passwords')
    .option('--no-cors-credentials', 'they may not')
    .option('--cors-max-age <seconds>', 'how long browsers remember that')
}

/** The rules with what was named in place of what there was. Throws for what cannot be understood, before anything is sent. */
export function ruleChange(flags: RuleFlags): (rules: ProxyRules) => Omit<RulesBody, 'basicAuth'> {
  const named: Omit<RulesBody, 'basicAuth' | 'cors'> = {
    ...(flags.signIn === undefined ? {} : { signIn: flags.signIn }),
    ...(flags.allow === undefined ? {} : { allowIps: [...flags.allow] }),
    ...(flags.redirect === undefined ? {} : { redirects: flags.redirect.map(redirectOf) }),
    ...(flags.requestHeader === undefined ? {} : { requestHeaders: flags.requestHeader.map(headerOf) }),
    ...(flags.responseHeader === undefined ? {} : { responseHeaders: flags.responseHeader.map(headerOf) }),
  }
  const cors = corsOf(flags)
  return (rules) => ({ ...rules, ...named, cors: cors === null ? rules.cors : withCors(rules.cors, cors) })
}

export function namesRules(flags: RuleFlags): boolean {
  return Object.keys(flags).some((name) => ruleNames.includes(name as keyof RuleFlags))
}

const ruleNames: readonly (keyof RuleFlags)[] = [
  'signIn',
  'allow',
  'password',
  'redirect',
  'requestHeader',
  'responseHeader',
  'corsOrigin',
  'corsMethod',
  'corsHeader',
  'corsExpose',
  'corsCredentials',
  'corsMaxAge',
]

type Cors = NonNullable<RulesBody['cors']>

function corsOf(flags: RuleFlags): Partial<Cors> | null {
  const change: Partial<Cors> = {
    ...(flags.corsOrigin === undefined ? {} : { origins: [...flags.corsOrigin] }),
    ...(flags.corsMethod === undefined ? {} : { methods: flags.corsMethod.map((method) => method.toUpperCase()) }),
    ...(flags.corsHeader === undefined ? {} : { headers: [...flags.corsHeader] }),
    ...(flags.corsExpose === undefined ? {} : { exposeHeaders: [...flags.corsExpose] }),
    ...(flags.corsCredentials === undefined ? {} : { credentials: flags.corsCredentials }),
    ...(flags.corsMaxAge === undefined
      ? {}
      : { maxAgeSeconds: wholeNumber(flags.corsMaxAge, '--cors-max-age', 0, 86_400) }),
  }
  return Object.keys(change).length === 0 ? null : change
}

function withCors(before: ProxyRules['cors'], change: Partial<Cors>): Cors {
  const { origins = before?.origins } = change
  if (origins === undefined)
    throw usageError('CORS is off, so it has no origins yet.', 'Say which: --cors-origin https://app.example.org')
  return { ...before, ...change, origins }
}

/** `/old -> /new`, `old.example.org/* -> https://example.org/* [301]`. What a path may be is for the service to say. */
function redirectOf(text: string): NonNullable<RulesBody['redirects']>[number] {
  const found = /^([^\s/]*)(\/\S*)\s*->\s*(\S+?)(?:\s+\[?(\d{3})\]?)?\s*$/.exec(text.trim())
  const status = statuses.find((each) => String(each) === (found?.[4] ?? '308'))
  if (found === null || status === undefined)
    throw usageError(
      `"${text}" is no redirect.`,
      'Examples: "/old -> /new", "/blog/* -> https://blog.example/* [301]". The status is 301, 302, 307 or 308.',
    )
  const [, host, from, to] = found
  return { from: from!, to: to!, status, ...(host === '' ? {} : { host: host! }) }
}

const statuses = [301, 302, 307, 308] as const

/** `Name: value`; without a value it is removed, as curl has it. */
function headerOf(text: string): NonNullable<RulesBody['requestHeaders']>[number] {
  const colon = text.indexOf(':')
  if (colon < 1) throw usageError(`"${text}" is no header.`, 'An example: "X-From: proxy"; "X-From:" removes it.')
  const value = text.slice(colon + 1).trim()
  return { name: text.slice(0, colon).trim(), value: value === '' ? null : value }
}
