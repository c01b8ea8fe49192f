import { z } from 'zod'
import { ScopeSchema } from './access.ts'
import { Time } from './common.ts'

const Values = z.array(z.string().min(1).max(300)).max(50).default([])
export const OidcRoles = z
  .strictObject({
    claim: z.string().min(1).max(200).describe('`groups`, `realm_access.roles`'),
    admin: Values,
    operate: Values,
    read: Values,
  })
  .meta({ id: 'OidcRoles' })

const provider = {
  issuer: z.string().min(1).max(500),
  clientId: z.string().min(1).max(300),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/))
    .max(20)
    .default(['openid', 'profile', 'email', 'offline_access']),
  roles: OidcRoles.nullable().default(null).describe('Null: everybody gets `defaultRole`.'),
  defaultRole: ScopeSchema.nullable().default(null).describe('Of people without such a claim; null: they are refused.'),
  createPeople: z.boolean().default(true).describe('Makes an account at the first sign-in.'),
  label: z.string().trim().min(1).max(60).default('Sign in'),
  refreshMinutes: z.int().min(1).max(1440).default(15),
  graceMinutes: z
    .int()
    .min(1)
    .max(10_080)
    .default(240)
    .describe('How long sessions go on while the provider does not answer.'),
}
export const OidcProvider = z.object({ ...provider, hasSecret: z.boolean() }).meta({ id: 'OidcProvider' })
export type OidcProvider = z.infer<typeof OidcProvider>
export const OidcSettings = z
  .object({
    redirectUri: z.string().describe('To be registered there.'),
    failingSince: Time.nullable().describe('Since when it does not answer refreshes.'),
    provider: OidcProvider.nullable(),
  })
  .meta({ id: 'OidcSettings' })
export type OidcSettings = z.infer<typeof OidcSettings>
export const OidcPut = z
  .strictObject({
    ...provider,
    clientSecret: z.string().max(1000).optional().describe('Absent: stays. Empty: a public client.'),
    password: z.string().min(1).max(256).describe('Your own, again.'),
  })
  .meta({ id: 'OidcPut' })
export type OidcPut = z.infer<typeof OidcPut>

export const OidcTest = z
  .strictObject({ issuer: z.string().min(1).max(500).optional().describe('Default: what is set.') })
  .meta({ id: 'OidcTest' })
export const OidcTested = z
  .object({
    checks: z.array(
      z
        .object({ name: z.enum(['discovery', 'keys', 'redirect', 'clock']), ok: z.boolean(), detail: z.string() })
        .meta({ id: 'OidcCheck' }),
    ),
  })
  .meta({ id: 'OidcTested' })
export type OidcTested = z.infer<typeof OidcTested>

const once = z.string().min(1).max(128)
export const OidcFinish = z
  .strictObject({ code: once.describe('From the fragment.'), verifier: once })
  .meta({ id: 'OidcFinish' })
export const OidcLink = OidcFinish.extend({ password: z.string().min(1).max(256) }).meta({ id: 'OidcLink' })
export const OidcOffer = z
  .object({ label: z.string().nullable().describe('Null: no provider.'), origin: z.string() })
  .meta({ id: 'OidcOffer' })
export const OidcEnded = z
  .object({ url: z.string().nullable().describe('Where one logs out there too.') })
  .meta({ id: 'OidcEnded' })
export const OidcSubject = z
  .strictObject({ subject: z.string().min(1).max(255), password: z.string().min(1).max(256) })
  .meta({ id: 'OidcSubject' })
