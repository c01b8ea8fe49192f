import { z } from 'zod'
import { operation } from '../operation.ts'
import { Cursor, Limit, listOf, ProjectRef, pageOf } from '../schemas/common.ts'
import {
  AccessEntry,
  Domain,
  DomainCreate,
  HostName,
  ProxyRules,
  ProxyRulesPut,
  Share,
  ShareCreate,
  ShareProvider,
  ShareViewer,
  Traffic,
} from '../schemas/network.ts'

const read = { kind: 'scope', scope: 'read', project: true } as const
const operate = { kind: 'scope', scope: 'operate', project: true } as const
const admin = { kind: 'scope', scope: 'admin', project: true } as const
const id = z.object({ id: ProjectRef })

export const listDomains = operation({
  id: 'listDomains',
  method: 'GET',
  path: '/projects/{id}/domains',
  tag: 'Network',
  summary: 'Host names under which the project answers',
  description: 'The first ones come with the project.',
  access: read,
  params: id,
  results: { 200: listOf('DomainList', Domain) },
  problems: [],
})

export const addDomain = operation({
  id: 'addDomain',
  method: 'POST',
  path: '/projects/{id}/domains',
  tag: 'Network',
  summary: 'Add a host name; no other project may have it',
  description: 'Point its DNS records at this machine.',
  access: operate,
  params: id,
  body: DomainCreate,
  results: { 201: Domain },
  problems: ['validation_failed', 'conflict'],
  audit: 'domain.add',
})

export const removeDomain = operation({
  id: 'removeDomain',
  method: 'DELETE',
  path: '/projects/{id}/domains/{host}',
  tag: 'Network',
  summary: 'Remove a host name',
  description: 'Names that come with the project stay.',
  access: operate,
  params: z.object({ id: ProjectRef, host: HostName }),
  results: { 204: null },
  problems: ['validation_failed'],
  audit: 'domain.remove',
  removes: 'record',
})

export const getProxyRules = operation({
  id: 'getProxyRules',
  method: 'GET',
  path: '/projects/{id}/proxy-rules',
  tag: 'Network',
  summary: 'The rules in front of the application, for every entry point',
  description: 'The ETag is needed to replace them safely.',
  access: read,
  params: id,
  results: { 200: ProxyRules },
  problems: [],
})

export const putProxyRules = operation({
  id: 'putProxyRules',
  method: 'PUT',
  path: '/projects/{id}/proxy-rules',
  tag: 'Network',
  summary: 'Replace all rules; what is absent is off',
  description:
    'Rules hold for every entry point: extra domains, the share, WebSockets, the development server. Their order is: share, ' +
    'addresses, CORS preflight, password, redirects, application. Send the ETag of what you read as If-Match.',
  access: admin,
  params: id,
  body: ProxyRulesPut,
  results: { 200: ProxyRules },
  problems: ['validation_failed', 'precondition_failed'],
  audit: 'proxy-rules.replace',
})

export const getShare = operation({
  id: 'getShare',
  method: 'GET',
  path: '/projects/{id}/share',
  tag: 'Network',
  summary: 'The project’s share',
  description: 'Also lists the ways to reach it from outside.',
  access: read,
  params: id,
  results: {
    200: z.object({ share: Share.nullable(), providers: z.array(ShareProvider) }).meta({ id: 'ShareOverview' }),
  },
  problems: [],
})

export const createShare = operation({
  id: 'createShare',
  method: 'POST',
  path: '/projects/{id}/share',
  tag: 'Network',
  summary: 'Show the project to others for a while, at a secret address',
  description: 'A project has one share at a time.',
  access: admin,
  params: id,
  body: ShareCreate.optional(),
  results: { 201: Share },
  problems: ['validation_failed', 'conflict', 'unavailable_here'],
  audit: 'share.create',
})

export const endShare = operation({
  id: 'endShare',
  method: 'DELETE',
  path: '/projects/{id}/share',
  tag: 'Network',
  summary: 'End the share at once, with every connection over it',
  description: 'Without a share this changes nothing.',
  access: operate,
  params: id,
  results: { 204: null },
  problems: [],
  audit: 'share.end',
  removes: 'record',
})

export const listShareViewers = operation({
  id: 'listShareViewers',
  method: 'GET',
  path: '/projects/{id}/share/viewers',
  tag: 'Network',
  summary: 'Who opened the share',
  description: 'One entry for each address.',
  access: read,
  params: id,
  results: { 200: listOf('ShareViewerList', ShareViewer) },
  problems: ['unavailable', 'unavailable_here'],
})

export const listAccessLog = operation({
  id: 'listAccessLog',
  method: 'GET',
  path: '/projects/{id}/access-log',
  tag: 'Network',
  summary: 'Requests to the project, newest first',
  description: 'Follow `nextCursor` for older requests.',
  access: read,
  params: id,
  query: z.strictObject({
    limit: Limit,
    cursor: Cursor,
    since: z.iso.datetime().optional().describe('This time and later.'),
    until: z.iso.datetime().optional().describe('This time and earlier.'),
    status: z
      .string()
      .regex(/^[1-5](xx|\d\d)$/)
      .optional()
      .describe('`404`, or `5xx`.'),
    q: z.string().max(200).optional().describe('Part of host, path, client or user agent.'),
  }),
  results: { 200: pageOf('AccessEntryPage', AccessEntry) },
  problems: ['invalid_request', 'unavailable', 'unavailable_here'],
})

export const getTraffic = operation({
  id: 'getTraffic',
  method: 'GET',
  path: '/projects/{id}/traffic',
  tag: 'Network',
  summary: 'Requests, statuses and times of answers, over a while',
  description: 'Longer ranges have longer steps.',
  access: read,
  params: id,
  query: z.strictObject({
    range: z.enum(['15m', '1h', '6h', '24h', '7d']).default('1h').describe('How far back it looks.'),
  }),
  results: { 200: Traffic },
  problems: ['unavailable', 'unavailable_here'],
})
