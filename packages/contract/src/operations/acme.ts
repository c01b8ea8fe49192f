import { z } from 'zod'
import { operation } from '../operation.ts'
import { Acme, AcmeInput } from '../schemas/acme.ts'

const instance = { kind: 'scope', scope: 'admin', instance: true } as const

export const getAcme = operation({
  id: 'getAcme',
  method: 'GET',
  path: '/settings/tls/acme',
  tag: 'System',
  summary: 'Read which authority gives certificates, and how far each name is',
  description: 'Secrets are never answered.',
  access: instance,
  results: { 200: Acme },
  problems: [],
})

export const putAcme = operation({
  id: 'putAcme',
  method: 'PUT',
  path: '/settings/tls/acme',
  tag: 'System',
  summary: 'Get certificates from an ACME authority',
  description: 'The authority is asked for its terms; certificates follow.',
  access: instance,
  body: AcmeInput,
  results: { 200: Acme },
  problems: ['validation_failed', 'conflict'],
  audit: 'acme.put',
})

export const deleteAcme = operation({
  id: 'deleteAcme',
  method: 'DELETE',
  path: '/settings/tls/acme',
  tag: 'System',
  summary: 'Ask no authority any more',
  description: 'Certificates stay until they end; account and credentials go.',
  access: instance,
  results: { 204: null },
  problems: [],
  audit: 'acme.delete',
  removes: 'record',
})

export const renewAcme = operation({
  id: 'renewAcme',
  method: 'POST',
  path: '/settings/tls/acme/renew',
  tag: 'System',
  summary: 'Try now what failed or waits, or renew one',
  description: 'Limits of the authority hold.',
  access: instance,
  query: z.object({ name: z.string().max(253).optional().describe('Renew this one, also before its time.') }),
  results: { 200: Acme },
  problems: ['not_found', 'conflict'],
  audit: 'acme.renew',
})
