import { z } from 'zod'
import { Time } from './common.ts'

export const certificateSources = ['own', 'acme', 'local'] as const
const Id = z.string().min(1).max(60).describe('`cert_…`.')
const Pem = (what: string) => z.string().min(1).max(65_536).describe(what)

export const TlsCertificate = z
  .object({
    id: Id,
    source: z.enum(certificateSources).describe('`own`: given; `acme`: fetched; `local`: of the local authority.'),
    names: z.array(z.string()).describe('DNS names.'),
    issuer: z.string().describe('Who signed it.'),
    notBefore: Time,
    notAfter: Time,
    fingerprint: z.string().describe('SHA-256 of it.'),
    nextRenewal: Time.nullable().describe('Null: you renew it.'),
    lastFailure: z
      .object({ at: Time, detail: z.string().describe('The reason.') })
      .meta({ id: 'RenewalFailure' })
      .nullable()
      .describe('Why it was not renewed.'),
    warnings: z.array(z.string()).describe('What is wrong with it.'),
  })
  .meta({ id: 'TlsCertificate' })
export type TlsCertificate = z.infer<typeof TlsCertificate>

export const TlsHost = z
  .object({
    host: z.string().describe('Host name.'),
    project: z.string().nullable().describe('Slug of its project.'),
    certificate: z.string().nullable().describe('Id of the one it has.'),
    https: z.boolean().describe('Whether its address says https.'),
  })
  .meta({ id: 'TlsHost' })
export type TlsHost = z.infer<typeof TlsHost>

export const Tls = z
  .object({
    listen: z.string().nullable().describe('Where projects answer over TLS.'),
    authority: z
      .object({
        id: Id,
        names: z.array(z.string()).describe('Its domains.'),
        fingerprint: z.string().describe('SHA-256 of it.'),
        notAfter: Time,
      })
      .meta({ id: 'TlsAuthority' })
      .nullable()
      .describe('The local one.'),
    certificates: z.array(TlsCertificate).describe('That hosts can have.'),
    hosts: z.array(TlsHost).describe('All names that the proxy serves.'),
    fault: z.string().nullable().describe('Why the newest certificates are not in use.'),
  })
  .meta({ id: 'Tls' })
export type Tls = z.infer<typeof Tls>

export const TlsCertificatePut = z
  .strictObject({
    certificate: Pem('PEM; its chain may follow.'),
    key: Pem('PEM, without a password; never answered.'),
    chain: Pem('PEM of intermediate certificates.').optional(),
  })
  .meta({ id: 'TlsCertificatePut' })
export type TlsCertificatePut = z.infer<typeof TlsCertificatePut>
