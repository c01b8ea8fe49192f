import { z } from 'zod'
import { Time, WorkloadName } from './common.ts'

export const HostName = z
  .string()
  .trim()
  .min(1)
  .max(300)
  .describe('`shop.example.org`, `*.example.org`, `bücher.example`.')

export const Domain = z
  .object({
    host: z
      .string()
      .describe('As it is looked up: lower case, names of other alphabets in their ASCII form (`xn--…`).'),
    display: z.string().describe('As a person reads it.'),
    automatic: z.boolean().describe('It comes with the project; it cannot be removed.'),
    redirectsUntil: Time.nullable().describe('Of a name from before a rename: until then it leads to that of today.'),
    workload: z.string().nullable().describe('Where it leads; null: to the owner of the project’s URL.'),
    url: z.string(),
    createdAt: Time.nullable(),
  })
  .meta({ id: 'Domain' })
export type Domain = z.infer<typeof Domain>
export const DomainCreate = z
  .strictObject({
    host: HostName,
    workload: WorkloadName.optional().describe('A workload with a page; default: the owner of the project’s URL.'),
  })
  .meta({ id: 'DomainCreate' })

const Header = z
  .strictObject({
    name: z.string().min(1).max(100),
    value: z.string().max(4000).nullable().describe('null removes the header.'),
  })
  .meta({ id: 'HeaderRule' })
export const Redirect = z
  .strictObject({
    from: z
      .string()
      .min(1)
      .max(2000)
      .describe('A path, `/old`; with `*` at its end all that begin with it, `/blog/*`.'),
    host: z.string().max(300).nullish().describe('Only for requests to this host; null: to any.'),
    to: z
      .string()
      .min(1)
      .max(2000)
      .describe(
        'A path, or an http or https address. A `*` at its end becomes the text that the `*` of `from` matched.',
      ),
    status: z.union([z.literal(301), z.literal(302), z.literal(307), z.literal(308)]).default(308),
  })
  .meta({ id: 'RedirectRule' })
export const Cors = z
  .strictObject({
    origins: z
      .array(z.string().min(1).max(300))
      .min(1)
      .max(100)
      .describe('Origins: scheme, host and port; or `*` alone.'),
    methods: z
      .array(z.string().regex(/^[A-Z]{1,20}$/))
      .max(20)
      .default(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
    headers: z
      .array(z.string().min(1).max(100))
      .max(100)
      .default([])
      .describe('Request headers that are allowed; empty: all that are requested.'),
    exposeHeaders: z.array(z.string().min(1).max(100)).max(100).default([]),
    credentials: z.boolean().default(false),
    maxAgeSeconds: z.int().min(0).max(86_400).default(600),
  })
  .meta({ id: 'CorsRules' })

/** As an expression that every dialect reads: no flag, no class by name. */
const withoutColonAndControls = /^[^:\x00-\x1f\x7f-\x9f]+$/

export const Maintenance = z
  .strictObject({
    enabled: z.boolean().describe('Others than `allowIps` get 503.'),
    retryAfterSeconds: z.int().min(1).max(604_800).optional().describe('Absent: 600.'),
    allowIps: z.array(z.string().max(100)).max(1000).optional().describe('Who gets in.'),
    message: z.string().max(2000).optional().describe('On the page.'),
    page: z.boolean().optional().describe('False: never `maintenance.html` of the project.'),
  })
  .meta({ id: 'Maintenance' })
export type Maintenance = z.infer<typeof Maintenance>

const shared = {
  signIn: z.boolean().describe('Only people who are signed in here and may read the project.'),
  allowIps: z
    .array(z.string().max(100))
    .max(1000)
    .describe('Addresses and CIDR blocks, IPv4 and IPv6. Empty: all. Others get 403.'),
  redirects: z.array(Redirect).max(500),
  requestHeaders: z.array(Header).max(100).describe('Set or removed on the way to the application.'),
  responseHeaders: z.array(Header).max(100).describe('Set or removed on the way back.'),
  cors: Cors.nullable(),
}
export const ProxyRules = z
  .object({
    ...shared,
    basicAuth: z
      .object({ username: z.string() })
      .meta({ id: 'BasicAuth' })
      .nullable()
      .describe('The password is never answered.'),
    maintenance: Maintenance.optional().describe('503 for visitors.'),
  })
  .meta({ id: 'ProxyRules' })
export type ProxyRules = z.infer<typeof ProxyRules>
/** What PUT takes: all that is absent is off. */
export const ProxyRulesPut = z
  .strictObject({
    signIn: shared.signIn.default(false),
    allowIps: shared.allowIps.default([]),
    basicAuth: z
      .strictObject({
        username: z.string().min(1).max(100).regex(withoutColonAndControls, 'must not hold ":" or control characters'),
        password: z
          .string()
          .min(1)
          .max(500)
          .optional()
          .describe('Needed for a new user name; without it the present one stays.'),
      })
      .meta({ id: 'BasicAuthPut' })
      .nullable()
      .default(null),
    redirects: shared.redirects.default([]),
    requestHeaders: shared.requestHeaders.default([]),
    responseHeaders: shared.responseHeaders.default([]),
    cors: shared.cors.default(null),
    maintenance: Maintenance.optional().describe('503 for visitors.'),
  })
  .meta({ id: 'ProxyRulesPut' })

export const ShareCreate = z
  .strictObject({
    minutes: z.int().min(5).max(10_080).default(60),
    password: z.string().min(6).max(200).optional().describe('Asked on a page before anything is shown.'),
    provider: z.string().max(40).optional().describe('How it is reached from outside; `direct` by default.'),
    workload: WorkloadName.optional().describe('Workload that is shown; default: the owner of the project’s URL.'),
  })
  .meta({ id: 'ShareCreate' })
export const Share = z
  .object({
    id: z.string().describe('shr_…'),
    url: z.string().nullable().describe('Null while a provider is still being connected.'),
    provider: z.string(),
    state: z.enum(['connecting', 'open', 'failed']),
    detail: z.string().nullable().describe('Of a share that failed: why.'),
    hasPassword: z.boolean(),
    workload: z.string().nullable(),
    expiresAt: Time,
    createdAt: Time,
    actor: z.string(),
    viewers: z.int().describe('How many different addresses opened it.'),
  })
  .meta({ id: 'Share' })
export type Share = z.infer<typeof Share>
export const ShareViewer = z
  .object({ time: Time, address: z.string(), userAgent: z.string().nullable(), requests: z.int(), lastSeenAt: Time })
  .meta({ id: 'ShareViewer' })
export const ShareProvider = z
  .object({
    name: z.string(),
    label: z.string(),
    summary: z.string(),
    available: z.boolean(),
    reason: z.string().nullable(),
    install: z.string().nullable(),
  })
  .meta({ id: 'ShareProvider' })

export const AccessEntry = z
  .object({
    time: Time,
    host: z.string(),
    method: z.string(),
    path: z.string().describe('Without the query.'),
    status: z.int(),
    seconds: z.number(),
    bytes: z.int().describe('Of the answer’s body.'),
    client: z.string(),
    userAgent: z.string().nullable(),
    via: z.enum(['domain', 'share']),
    by: z.string().nullable().describe('Which rule answered in the application’s place; null: it answered itself.'),
  })
  .meta({ id: 'AccessEntry' })
export type AccessEntry = z.infer<typeof AccessEntry>
export const TrafficPoint = z
  .object({
    time: Time,
    requests: z.int(),
    bytes: z.int(),
    status2xx: z.int(),
    status3xx: z.int(),
    status4xx: z.int(),
    status5xx: z.int(),
    p50: z.number().nullable().describe('Seconds.'),
    p95: z.number().nullable(),
    p99: z.number().nullable(),
  })
  .meta({ id: 'TrafficPoint' })
export const Traffic = z
  .object({
    stepSeconds: z.int(),
    items: z.array(TrafficPoint),
    total: TrafficPoint.omit({ time: true }).meta({ id: 'TrafficTotal' }),
  })
  .meta({ id: 'Traffic' })
export type Traffic = z.infer<typeof Traffic>
