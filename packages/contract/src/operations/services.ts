import { InboxChange, InboxMessage, InboxMessageId, InboxPage, InboxSummary } from '@stackquay/catalog'
import { z } from 'zod'
import { operation } from '../operation.ts'
import { Cursor, DryRun, Limit, ProjectRef, textOf, Wait } from '../schemas/common.ts'
import { Project } from '../schemas/project.ts'
import { CredentialsService, Extras, KeptDataKind, ServiceCredentials } from '../schemas/services.ts'
import { removal } from './of-project.ts'

const id = z.object({ id: ProjectRef })
const read = { kind: 'scope', scope: 'read', project: true } as const
const operate = { kind: 'scope', scope: 'operate', project: true } as const
const admin = { kind: 'scope', scope: 'admin', project: true } as const
const change = z.strictObject({ dryRun: DryRun, wait: Wait })
const service = z.object({ id: ProjectRef, service: CredentialsService.describe('The service, by its name.') })

export const listExtras = operation({
  id: 'listExtras',
  method: 'GET',
  path: '/projects/{id}/extras',
  tag: 'Services',
  summary: 'Services of a project, and data that is kept of disabled ones',
  description: 'Data of a disabled service is found again when it is enabled.',
  access: read,
  params: id,
  results: { 200: Extras },
  problems: [],
})

export const deleteKeptData = operation({
  id: 'deleteKeptData',
  method: 'DELETE',
  path: '/projects/{id}/extras/{kind}/data',
  tag: 'Services',
  summary: 'Delete the kept data of a disabled service, with its credentials',
  description: 'The service must be disabled. It can be restored from the trash.',
  access: admin,
  params: z.object({ id: ProjectRef, kind: KeptDataKind.describe('The service whose data it is.') }),
  query: removal,
  results: { 200: Project },
  problems: ['conflict', 'busy', 'precondition_failed'],
  audit: 'service.data.delete',
  dryRun: true,
  removes: 'data',
})

export const getServiceCredentials = operation({
  id: 'getServiceCredentials',
  method: 'GET',
  path: '/projects/{id}/{service}/credentials',
  tag: 'Services',
  summary: 'How to connect to a service, with its secrets; every read is audited',
  description: 'Which fields there are depends on the service.',
  access: operate,
  params: service,
  results: { 200: ServiceCredentials },
  problems: [],
  audit: 'service.credentials.read',
})

export const rotateServiceCredentials = operation({
  id: 'rotateServiceCredentials',
  method: 'POST',
  path: '/projects/{id}/{service}/credentials/rotate',
  tag: 'Services',
  summary: 'Make new secrets for a service; it and what uses it restart',
  description: 'The old secrets stop working.',
  access: admin,
  params: service,
  query: change,
  results: { 200: Project },
  problems: ['busy', 'validation_failed', 'unavailable_here', 'precondition_failed'],
  audit: 'service.credentials.rotate',
  dryRun: true,
})

const message = z.object({ id: ProjectRef, message: InboxMessageId })
const mailProblems = ['not_running', 'unavailable'] as const

export const listMail = operation({
  id: 'listMail',
  method: 'GET',
  path: '/projects/{id}/mail',
  tag: 'Mail',
  summary: 'Mails that the project sent, newest first',
  description: '`q` searches; the answer also counts unread mails.',
  access: operate,
  params: id,
  query: z.strictObject({
    limit: Limit,
    cursor: Cursor,
    q: z
      .string()
      .max(200)
      .optional()
      .describe('Words that must all be in the subject, sender, recipients, file names or text.'),
  }),
  results: { 200: InboxPage },
  problems: ['invalid_request', ...mailProblems],
})

export const deleteAllMail = operation({
  id: 'deleteAllMail',
  method: 'DELETE',
  path: '/projects/{id}/mail',
  tag: 'Mail',
  summary: 'Empty the inbox',
  description: 'Deletes every mail of the project for good.',
  access: operate,
  params: id,
  results: { 204: null },
  problems: mailProblems,
  audit: 'mail.delete',
  removes: 'record',
})

export const getMail = operation({
  id: 'getMail',
  method: 'GET',
  path: '/projects/{id}/mail/{message}',
  tag: 'Mail',
  summary: 'Read a mail',
  description: 'With text, HTML and headers. Reading does not mark it as read.',
  access: operate,
  params: message,
  results: { 200: InboxMessage },
  problems: mailProblems,
})

export const updateMail = operation({
  id: 'updateMail',
  method: 'PATCH',
  path: '/projects/{id}/mail/{message}',
  tag: 'Mail',
  summary: 'Mark a mail as read or unread',
  description: 'Answers the mail without its text.',
  access: operate,
  params: message,
  body: InboxChange,
  results: { 200: InboxSummary },
  problems: ['validation_failed', ...mailProblems],
  audit: 'mail.update',
})

export const deleteMail = operation({
  id: 'deleteMail',
  method: 'DELETE',
  path: '/projects/{id}/mail/{message}',
  tag: 'Mail',
  summary: 'Delete a mail',
  description: 'Deletes it for good.',
  access: operate,
  params: message,
  results: { 204: null },
  problems: mailProblems,
  audit: 'mail.delete',
  removes: 'record',
})

export const getMailHtml = operation({
  id: 'getMailHtml',
  method: 'GET',
  path: '/projects/{id}/mail/{message}/html',
  tag: 'Mail',
  summary: 'The HTML of a mail as a document without scripts and requests, for a frame',
  description:
    'Its own Content-Security-Policy gives it no origin, no scripts and no forms. Images from elsewhere load with `images=remote` alone. ' +
    'Links lead to a new tab; those that are not absolute lead nowhere.',
  access: operate,
  params: message,
  query: z.strictObject({
    images: z.enum(['embedded', 'remote']).optional().describe('Which images are shown; `embedded` by default.'),
  }),
  results: { 200: textOf('MailHtml', 'An HTML document that is safe to show in a frame.') },
  resultType: 'text/html',
  ticket: 'view',
  problems: mailProblems,
})

export const getMailSource = operation({
  id: 'getMailSource',
  method: 'GET',
  path: '/projects/{id}/mail/{message}/source',
  tag: 'Mail',
  summary: 'A mail byte for byte as it arrived',
  description: 'For mail programs; ranges are answered.',
  access: operate,
  params: message,
  results: { 200: textOf('MailSource', 'The mail byte for byte as it arrived (RFC 5322).') },
  resultType: 'message/rfc822',
  ticket: 'download',
  problems: mailProblems,
})

export const getMailAttachment = operation({
  id: 'getMailAttachment',
  method: 'GET',
  path: '/projects/{id}/mail/{message}/attachments/{index}',
  tag: 'Mail',
  summary: 'A file that a mail carries, as a download',
  description: 'Always a download, never shown in the page.',
  access: operate,
  params: z.object({
    ...message.shape,
    index: z
      .string()
      .regex(/^\d{1,4}$/, 'is not a number of an attachment')
      .describe('`index` of the attachment.'),
  }),
  results: {
    200: z.string().meta({ id: 'AttachmentContent', format: 'binary', description: 'The bytes of the attachment.' }),
  },
  resultType: 'application/octet-stream',
  ticket: 'download',
  problems: mailProblems,
})
