import { z } from 'zod'
import type { ServiceFields } from '../../entry-types.ts'
import { Port } from '../../runtime-settings.ts'

/** A Redis elsewhere. Nothing is started here; runtimes get its address. */
const address = {
  host: z
    .string()
    .min(1)
    .max(253)
    .regex(/^[A-Za-z0-9._:-]+$/, 'must be a host name or an address, without a scheme, a port or brackets')
    .describe('Host name or address.'),
  port: Port.describe('The port it listens on.'),
  username: z
    .string()
    .min(1)
    .max(256)
    .regex(/^[^\s\0]+$/, 'must not hold spaces')
    .nullable()
    .describe('User of its access control list; null for the default user.'),
  tls: z.boolean().describe('Whether the connection is encrypted: rediss:// instead of redis://.'),
}

const Reference = z.strictObject({ secret: z.string().min(1), version: z.int().min(0) })

const whole = 'Use a Redis that runs elsewhere. Null: the server of the project.'
const hasPassword = z.boolean().meta({ readOnly: true, description: 'Read-only: whether a password is stored.' })

/** What is left out when it is first named takes what most servers have. */
export const ExternalStored = z
  .strictObject({
    host: address.host,
    port: address.port.default(6379),
    username: address.username.default(null),
    password: Reference.nullable().default(null).describe('Names the sealed password; null when there is none.'),
    tls: address.tls.default(false),
  })
  .nullable()
  .describe(whole)

export const ExternalPatch = z
  .strictObject({
    host: address.host.optional(),
    port: address.port.optional(),
    username: address.username.optional(),
    password: z
      .string()
      .min(1)
      .max(1024)
      .regex(/^[^\0]*$/, 'must not hold a zero byte')
      .nullable()
      .optional()
      .describe('Write-only. Null takes it away; left out it stays.'),
    tls: address.tls.optional(),
    hasPassword: hasPassword.optional(),
  })
  .nullable()
  .describe(whole)

export const ExternalView = z
  .strictObject({ ...address, hasPassword })
  .nullable()
  .describe(whole)

export type External = NonNullable<z.output<typeof ExternalStored>>

/** Null when the project's own server runs. Settings have been through `ExternalStored`. */
export function externalOf(settings: ServiceFields): External | null {
  return (settings.external ?? null) as External | null
}
