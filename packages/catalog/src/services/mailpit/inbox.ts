import { z } from 'zod'
import { inboxLimits } from './catcher/inbox-terms.ts'

export { inboxHeader, inboxLimits } from './catcher/inbox-terms.ts'

/**
 * What the mail catcher and those who show its inbox say to each other: JSON over HTTP on the port that the kind names in
 * `inboxPort`. Paths are below; all answers are the schemas here, and a refusal is `InboxRefusal` with its status.
 *
 * Who may ask: a request with `Authorization: Bearer KEY` (the kind's secret `inboxSecret`), or a request of the same site,
 * whose changes carry the header `inboxHeader` with any value.
 */
export const inboxSecret = 'apiKey'

export const inboxPaths = {
  health: '/-/health',
  /** GET answers `InboxPage` for an `InboxQuery`; DELETE answers 204 and empties the inbox. */
  messages: '/api/messages',
  /** GET answers `InboxMessage`, PATCH takes `InboxChange` and answers `InboxSummary`, DELETE answers 204. */
  message: (id: string) => `/api/messages/${encodeURIComponent(id)}`,
  /** The message byte for byte as it arrived, as `message/rfc822`. */
  source: (id: string) => `/api/messages/${encodeURIComponent(id)}/source`,
  /** The decoded bytes, always as a download and never as a type that a browser would show. */
  attachment: (id: string, index: number) => `/api/messages/${encodeURIComponent(id)}/attachments/${index}`,
} as const

export const InboxMessageId = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .describe('Id of a message in the inbox.')

export const InboxAddress = z
  .object({
    name: z.string().describe('Display name, empty when none was sent.'),
    address: z.string(),
  })
  .meta({ id: 'InboxAddress' })
export type InboxAddress = z.infer<typeof InboxAddress>

export const InboxSummary = z
  .object({
    id: InboxMessageId,
    from: InboxAddress.nullable(),
    to: z
      .array(InboxAddress)
      .describe(
        `As the header says it, or the envelope when there is no such header. Lists name the first ${inboxLimits.listedRecipients}.`,
      ),
    subject: z.string(),
    receivedAt: z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC.' }),
    sizeBytes: z.int(),
    attachmentCount: z.int().describe('How many files it carries; images that belong to its text are not counted.'),
    read: z.boolean(),
    snippet: z.string().describe('How its text begins.'),
  })
  .meta({ id: 'InboxSummary' })
export type InboxSummary = z.infer<typeof InboxSummary>

export const InboxPage = z
  .object({
    items: z.array(InboxSummary),
    nextCursor: z.string().nullable(),
    total: z.int().describe('How many messages match the search, or are in the inbox without one.'),
    unread: z.int().describe('How many messages of the whole inbox were not read yet.'),
  })
  .meta({ id: 'InboxPage' })
export type InboxPage = z.infer<typeof InboxPage>

export const InboxAttachment = z
  .object({
    index: z.int().describe('Its place in the message, for the download.'),
    fileName: z.string().nullable(),
    contentType: z.string().describe('As the sender says it.'),
    sizeBytes: z.int(),
    inline: z.boolean().describe('Whether it belongs to the text, such as an image in it.'),
    contentId: z.string().nullable(),
  })
  .meta({ id: 'InboxAttachment' })
export type InboxAttachment = z.infer<typeof InboxAttachment>

export const InboxMessage = z
  .object({
    ...InboxSummary.shape,
    cc: z.array(InboxAddress),
    bcc: z.array(InboxAddress).describe('Recipients of the envelope whom no header names.'),
    replyTo: z.array(InboxAddress),
    headers: z
      .array(z.object({ name: z.string(), value: z.string() }).meta({ id: 'InboxHeader' }))
      .describe('In the order they were sent.'),
    text: z.string().nullable(),
    html: z
      .string()
      .nullable()
      .describe(
        'As sent, with images of the message itself inlined. Show it only in a sandboxed frame without scripts.',
      ),
    truncated: z.boolean().describe('Whether text or html was cut. The source is always whole.'),
    attachments: z.array(InboxAttachment),
    envelope: z
      .object({ from: z.string(), to: z.array(z.string()) })
      .meta({ id: 'InboxEnvelope' })
      .describe('What SMTP said, whatever the headers say.'),
    problem: z.string().nullable().describe('Why the message could not be understood: text is then its source.'),
  })
  .meta({ id: 'InboxMessage' })
export type InboxMessage = z.infer<typeof InboxMessage>

export const InboxChange = z.strictObject({ read: z.boolean() }).meta({ id: 'InboxChange' })
export type InboxChange = z.infer<typeof InboxChange>

/** The query of a page, as text of a URL. A limit above the most is the most. */
export const InboxQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'is not a whole number above 0')
    .transform((text) => Math.min(Number(text), inboxLimits.pageSize.most))
    .meta({ type: 'integer', minimum: 1, maximum: inboxLimits.pageSize.most })
    .optional()
    .describe(`How many messages, ${inboxLimits.pageSize.usual} by default, at most ${inboxLimits.pageSize.most}.`),
  cursor: z.string().max(200).optional().describe('nextCursor of the page before.'),
  q: z
    .string()
    .max(inboxLimits.searchCharacters)
    .optional()
    .describe('Words that must all be in the subject, sender, recipients, file names or text.'),
})
export type InboxQuery = z.infer<typeof InboxQuery>

export const InboxRefusal = z.object({
  error: z.object({
    code: z.enum(['not_found', 'invalid_request', 'refused', 'method_not_allowed', 'unauthorized', 'internal']),
    message: z.string(),
  }),
})
export type InboxRefusal = z.infer<typeof InboxRefusal>
