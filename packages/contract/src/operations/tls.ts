import { z } from 'zod'
import { operation } from '../operation.ts'
import { textOf } from '../schemas/common.ts'
import { Tls, TlsCertificate, TlsCertificatePut } from '../schemas/tls.ts'

const instance = { kind: 'scope', scope: 'admin', instance: true } as const

export const getTls = operation({
  id: 'getTls',
  method: 'GET',
  path: '/settings/tls',
  tag: 'System',
  summary: 'Read certificates, and which host has which',
  description: 'Keys are never answered. On, off and more: `tls…` of `/settings`.',
  access: instance,
  results: { 200: Tls },
  problems: [],
})

export const getTlsAuthority = operation({
  id: 'getTlsAuthority',
  method: 'GET',
  path: '/settings/tls/ca.crt',
  tag: 'System',
  summary: 'Download the certificate of the local authority',
  description: 'PEM. Whoever trusts it trusts this instance for its own domains alone.',
  access: { kind: 'public' },
  results: { 200: textOf('AuthorityCertificate', 'PEM.') },
  resultType: 'application/x-pem-file',
  problems: ['not_found'],
})

export const putTlsCertificate = operation({
  id: 'putTlsCertificate',
  method: 'PUT',
  path: '/settings/tls/certificates',
  tag: 'System',
  summary: 'Use a certificate of your own',
  description: 'It takes the place of the one with the same names. No connection is dropped.',
  access: instance,
  body: TlsCertificatePut,
  results: { 200: TlsCertificate },
  problems: ['validation_failed'],
  audit: 'certificate.put',
})

export const deleteTlsCertificate = operation({
  id: 'deleteTlsCertificate',
  method: 'DELETE',
  path: '/settings/tls/certificates/{certificate}',
  tag: 'System',
  summary: 'Delete a certificate and its key',
  description: 'Of the local authority: another one takes its place while it is on.',
  access: instance,
  params: z.object({ certificate: z.string().min(1).max(60).describe('Id of a certificate.') }),
  results: { 204: null },
  problems: ['not_found', 'conflict'],
  audit: 'certificate.delete',
  removes: 'record',
})
