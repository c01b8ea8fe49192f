import { InboxMessage, InboxPage, InboxSummary, inboxPaths } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import type { ProjectRow } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { createInbox, emptyStream, type MailDeps } from './inbox.ts'
import { mailDocument, mailHeaders } from './mail-document.ts'

type MailHandlers = Pick<
  Handlers,
  | 'listMail'
  | 'getMail'
  | 'updateMail'
  | 'deleteMail'
  | 'deleteAllMail'
  | 'getMailHtml'
  | 'getMailSource'
  | 'getMailAttachment'
>

/** Hands on the inbox of a project’s mail catcher. What it says is read again by its schema: a program of the project answers. */
export function mailHandlers(deps: MailDeps, { find }: ProjectAnswers): MailHandlers {
  const { store } = deps
  const { ask, read } = createInbox(deps)
  return {
    listMail: async ({ params, query }, { signal }) => {
      const search = new URLSearchParams({ limit: String(query.limit ?? 50) })
      if (query.cursor !== undefined) search.set('cursor', query.cursor)
      if (query.q !== undefined) search.set('q', query.q)
      const answer = await ask(await find(params.id), `${inboxPaths.messages}?${search}`, signal)
      return { status: 200, body: await read(InboxPage, answer) }
    },

    getMail: async ({ params }, { signal }) => {
      const answer = await ask(await find(params.id), inboxPaths.message(params.message), signal)
      return { status: 200, body: await read(InboxMessage, answer) }
    },

    updateMail: async ({ params, body }, context) => {
      const row = await find(params.id)
      const change = { method: 'PATCH', body: JSON.stringify(body) }
      const answer = await ask(row, inboxPaths.message(params.message), context.signal, change)
      const summary = await read(InboxSummary, answer)
      await record({ store }, row, 'mail.update', { message: params.message, ...body }, context)
      return { status: 200, body: summary }
    },

    deleteMail: async ({ params }, context) => {
      const row = await find(params.id)
      await ask(row, inboxPaths.message(params.message), context.signal, { method: 'DELETE' })
      await record({ store }, row, 'mail.delete', { message: params.message }, context)
      return { status: 204 }
    },

    deleteAllMail: async ({ params }, context) => {
      const row = await find(params.id)
      await ask(row, inboxPaths.messages, context.signal, { method: 'DELETE' })
      await record({ store }, row, 'mail.delete', { messages: 'all' }, context)
      return { status: 204 }
    },

    getMailHtml: async ({ params, query }, { signal }) => {
      const answer = await ask(await find(params.id), inboxPaths.message(params.message), signal)
      const { html } = await read(InboxMessage, answer)
      if (html === null) throw new ProblemError('not_found', 'The mail has no HTML.', { hint: 'Show its text.' })
      const body = Buffer.from(mailDocument(html))
      return { status: 200, headers: mailHeaders(query.images === 'remote'), json: body }
    },

    getMailSource: async ({ params }, { signal }) => {
      const answer = await ask(await find(params.id), inboxPaths.source(params.message), signal)
      return file(answer, 'message/rfc822', `${params.message}.eml`)
    },

    // What the sender calls the file is told with the mail; here it would only be a way into a header.
    getMailAttachment: async ({ params }, { signal }) => {
      const path = inboxPaths.attachment(params.message, Number(params.index))
      const answer = await ask(await find(params.id), path, signal)
      const name = `attachment-${params.index}`
      const { etag, ...rest } = file(answer, 'application/octet-stream', name)
      return { ...rest, ...(etag === undefined ? {} : { etag: `${params.message}-${etag}` }) }
    },
  }
}

/** A mail never changes, so its name and length tell one state of the bytes from another. */
function file(answer: Response, type: string, name: string) {
  const length = Number(answer.headers.get('content-length') ?? Number.NaN)
  return {
    status: 200,
    headers: { 'content-type': type, 'content-disposition': `attachment; filename="${name}"` },
    stream: answer.body ?? emptyStream(),
    ...(Number.isSafeInteger(length) ? { length, etag: `${name}-${length}` } : {}),
  }
}

async function record(
  { store }: Pick<MailDeps, 'store'>,
  row: ProjectRow,
  action: string,
  changes: Readonly<Record<string, unknown>>,
  context: Parameters<Handlers['deleteMail']>[1],
): Promise<void> {
  await store.transaction((tx) =>
    tx.audit.append(context.audit({ action, target: row.slug, project: row.id, changes })),
  )
}
