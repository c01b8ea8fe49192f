import { z } from 'zod'
import { Time } from './common.ts'
import { NotificationKind } from './notifications.ts'

const Name = z.string().min(1).max(253)
const challenges = ['http-01', 'tls-alpn-01', 'dns-01'] as const

const shared = {
  directory: z
    .string()
    .min(1)
    .max(500)
    .describe('`letsencrypt`, `letsencrypt-staging`, `zerossl`, `google`, or an address.'),
  roots: z.string().max(65_536).nullable().default(null).describe('PEM that an authority of your own is trusted by.'),
  email: z.email().max(254).nullable().default(null).describe('The authority may write to it.'),
  challenge: z.enum(challenges).describe('How names are proved. Wildcards: `dns-01`.'),
  names: z.array(Name).max(100).nullable().default(null).describe('Null: all public names of here.'),
  wildcard: z.boolean().default(false).describe('One for `*.` the base domain.'),
  forwardedPorts: z
    .array(z.union([z.literal(80), z.literal(443)]))
    .max(2)
    .default([])
    .describe('Ports of the outside that lead to the proxy.'),
  resolvers: z
    .array(
      z.string().regex(/^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:]+\])(:\d{1,5})?$/, 'must be an address, or address:port'),
    )
    .max(3)
    .default([])
    .describe('DNS that is asked in place of the system’s.'),
}

export const AcmeInput = z
  .strictObject({
    ...shared,
    termsAgreed: z.literal(true).describe('You agree to the terms of the authority.'),
    dns: z
      .strictObject({
        provider: z.string().max(30).describe('One of `providers`.'),
        settings: z.record(z.string().max(40), z.unknown()).describe('As its `settingsSchema` says.'),
      })
      .meta({ id: 'AcmeDnsChoice' })
      .nullable()
      .default(null)
      .describe('Secrets that are left out stay, unless another setting changes.'),
    externalAccount: z
      .strictObject({
        keyId: z.string().min(1).max(500).describe('As the authority shows it.'),
        hmacKey: z
          .string()
          .max(500)
          .regex(/^[A-Za-z0-9_-]+=*$/, 'must be base64url')
          .optional()
          .describe('Left out: the one of before.'),
      })
      .meta({ id: 'AcmeExternalAccountChoice' })
      .nullable()
      .default(null)
      .describe('External account binding.'),
  })
  .meta({ id: 'AcmeChoice' })
export type AcmeInput = z.infer<typeof AcmeInput>

export const AcmeSettings = z
  .object({
    ...shared,
    dns: z
      .object({
        provider: z.string().describe('One of `providers`.'),
        settings: z.record(z.string(), z.unknown()).describe('Of a secret `token` only `hasToken`.'),
      })
      .meta({ id: 'AcmeDns' })
      .nullable()
      .describe('Who writes records; null without.'),
    externalAccount: z
      .object({ keyId: z.string().describe('As the authority shows it.') })
      .meta({ id: 'AcmeExternalAccount' })
      .nullable()
      .describe('External account binding.'),
  })
  .meta({ id: 'AcmeSettings' })
export type AcmeSettings = z.infer<typeof AcmeSettings>

export const AcmeOrder = z
  .object({
    name: z.string().describe('What it is for.'),
    state: z.enum(['valid', 'waiting', 'running', 'failing']).describe('How far it is.'),
    certificate: z.string().nullable().describe('Id of the one there is.'),
    nextAttempt: Time.nullable().describe('Or renewal; null while it runs.'),
    failure: z
      .object({ code: z.string(), detail: z.string(), at: Time })
      .meta({ id: 'AcmeFailure' })
      .nullable()
      .describe('Why the last attempt failed.'),
  })
  .meta({ id: 'AcmeOrder' })
export type AcmeOrder = z.infer<typeof AcmeOrder>

export const Acme = z
  .object({
    settings: AcmeSettings.nullable().describe('Null: off.'),
    orders: z.array(AcmeOrder).describe('One for each certificate that is wanted.'),
    providers: z.array(NotificationKind).describe('Who can write records.'),
  })
  .meta({ id: 'Acme' })
export type Acme = z.infer<typeof Acme>
