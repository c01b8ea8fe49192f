import type { CallInput, ProxyRules } from '@stackquay/contract'

export type RulesBody = NonNullable<CallInput<'putProxyRules'>['body']>
type Redirect = ProxyRules['redirects'][number]

/** Rules as the fields of a form hold them: lists of words as text, rows with a key that stays theirs when they move. */
export interface RulesFormState {
  readonly signIn: boolean
  /** One a line. */
  readonly allowIps: string
  readonly basicAuth: { readonly username: string; readonly password: string } | null
  readonly redirects: readonly RedirectRow[]
  readonly requestHeaders: readonly HeaderRow[]
  readonly responseHeaders: readonly HeaderRow[]
  readonly cors: CorsFormState | null
  /** Null: it was never set. */
  readonly maintenance: MaintenanceFormState | null
}
export interface MaintenanceFormState {
  readonly enabled: boolean
  /** Minutes; empty: the default. */
  readonly retryAfter: string
  /** One a line. */
  readonly allowIps: string
  readonly message: string
  readonly page: boolean
}
export interface RedirectRow {
  readonly key: string
  readonly from: string
  readonly to: string
  readonly status: Redirect['status']
  /** Empty for any. */
  readonly host: string
}
export interface HeaderRow {
  readonly key: string
  readonly name: string
  readonly value: string
  /** It is taken away, whatever its value. */
  readonly remove: boolean
}
export interface CorsFormState {
  /** One a line. */
  readonly origins: string
  /** With commas or blanks between. */
  readonly methods: string
  readonly headers: string
  readonly exposeHeaders: string
  readonly credentials: boolean
  readonly maxAgeSeconds: string
}

export const redirectStatuses = [308, 307, 301, 302] as const satisfies readonly Redirect['status'][]

export function formStateOf(rules: ProxyRules): RulesFormState {
  const { signIn, allowIps, basicAuth, redirects, requestHeaders, responseHeaders, cors, maintenance } = rules
  return {
    signIn,
    allowIps: allowIps.join('\n'),
    basicAuth: basicAuth === null ? null : { username: basicAuth.username, password: '' },
    redirects: redirects.map(({ from, to, status, host }, index) => ({
      key: `stored-${index}`,
      from,
      to,
      status,
      host: host ?? '',
    })),
    requestHeaders: requestHeaders.map(headerRow),
    responseHeaders: responseHeaders.map(headerRow),
    cors:
      cors === null
        ? null
        : {
            origins: cors.origins.join('\n'),
            methods: cors.methods.join(', '),
            headers: cors.headers.join(', '),
            exposeHeaders: cors.exposeHeaders.join(', '),
            credentials: cors.credentials,
            maxAgeSeconds: String(cors.maxAgeSeconds),
          },
    maintenance: maintenance === undefined ? null : maintenanceForm(maintenance),
  }
}

/** What PUT takes. Every row stays in its place, so that a pointer of the answer names its field. */
export function bodyOf(form: RulesFormState): RulesBody {
  const { basicAuth, cors, maintenance } = form
  return {
    signIn: form.signIn,
    allowIps: addressesOf(form),
    basicAuth:
      basicAuth === null
        ? null
        : {
            username: basicAuth.username,
            // Nothing typed leaves the one that is set.
            ...(basicAuth.password === '' ? {} : { password: basicAuth.password }),
          },
    redirects: form.redirects.map(({ from, to, status, host }) => ({
      from: from.trim(),
      to: to.trim(),
      status,
      host: host.trim() === '' ? null : host.trim(),
    })),
    requestHeaders: form.requestHeaders.map(headerOf),
    responseHeaders: form.responseHeaders.map(headerOf),
    cors:
      cors === null
        ? null
        : {
            origins: linesOf(cors.origins),
            methods: wordsOf(cors.methods.toUpperCase()),
            headers: wordsOf(cors.headers),
            exposeHeaders: wordsOf(cors.exposeHeaders),
            credentials: cors.credentials,
            maxAgeSeconds: Number(cors.maxAgeSeconds),
          },
    ...(maintenance === null ? {} : { maintenance: maintenanceOf(maintenance) }),
  }
}

export function addressesOf({ allowIps }: RulesFormState): string[] {
  return linesOf(allowIps)
}

type Maintenance = NonNullable<ProxyRules['maintenance']>

function maintenanceForm({ enabled, retryAfterSeconds, allowIps, message, page }: Maintenance): MaintenanceFormState {
  return {
    enabled,
    retryAfter: retryAfterSeconds === undefined ? '' : String(retryAfterSeconds / 60),
    allowIps: (allowIps ?? []).join('\n'),
    message: message ?? '',
    page: page ?? true,
  }
}

function maintenanceOf({ enabled, retryAfter, allowIps, message, page }: MaintenanceFormState): Maintenance {
  const addresses = linesOf(allowIps)
  return {
    enabled,
    ...(retryAfter.trim() === '' ? {} : { retryAfterSeconds: Math.round(Number(retryAfter) * 60) }),
    ...(addresses.length === 0 ? {} : { allowIps: addresses }),
    ...(message.trim() === '' ? {} : { message: message.trim() }),
    ...(page ? {} : { page }),
  }
}

export const emptyMaintenance: MaintenanceFormState = {
  enabled: false,
  retryAfter: '',
  allowIps: '',
  message: '',
  page: true,
}

export const emptyCors: CorsFormState = {
  origins: '',
  methods: 'GET, HEAD, POST, PUT, PATCH, DELETE',
  headers: '',
  exposeHeaders: '',
  credentials: false,
  maxAgeSeconds: '600',
}

/** What stands in front of the application, in the order in which a request meets it. */
export const ruleOrder = [
  'share',
  'signIn',
  'addresses',
  'preflight',
  'maintenance',
  'password',
  'redirects',
  'application',
] as const
export type RuleStep = (typeof ruleOrder)[number]

/** Which of them these rules switch on. */
export function stepsOn(form: RulesFormState): readonly RuleStep[] {
  const on: Readonly<Partial<Record<RuleStep, boolean>>> = {
    signIn: form.signIn,
    addresses: addressesOf(form).length > 0,
    preflight: form.cors !== null,
    maintenance: form.maintenance?.enabled === true,
    password: form.basicAuth !== null,
    redirects: form.redirects.length > 0,
  }
  return ruleOrder.filter((step) => on[step] === true)
}

/** The list with one entry a place further up (-1) or down (1). */
export function moved<Item>(list: readonly Item[], index: number, by: -1 | 1): readonly Item[] {
  const item = list[index]
  if (item === undefined || index + by < 0 || index + by >= list.length) return list
  return list.toSpliced(index, 1).toSpliced(index + by, 0, item)
}

function headerRow({ name, value }: ProxyRules['requestHeaders'][number], index: number): HeaderRow {
  return { key: `stored-${index}`, name, value: value ?? '', remove: value === null }
}

function headerOf({ name, value, remove }: HeaderRow) {
  return { name: name.trim(), value: remove ? null : value }
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}
