import {
  InboxMessage,
  InboxPage,
  InboxRefusal,
  InboxSummary,
  inboxPaths,
  inboxSecret,
  serviceKinds,
} from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import { serviceSecret } from '@stackquay/domain'
import type { Engine, SecretRef } from '@stackquay/engine-api'
import type { ProjectRow, Store } from '@stackquay/store'
import type { z } from 'zod'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { Workers } from '../workers/workers.ts'
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

export interface MailDeps {
  readonly store: Store
  readonly engine: Pick<Engine, 'address'>
  readonly workers: Pick<Workers, 'run'>
  reveal(ref: SecretRef): Promise<string>
}

const catchers = serviceKinds.filter((kind) => kind.inboxPort !== undefined)
/** Until it begins to answer; how long a download takes is the reader’s affair. */
const timeoutMs = 15_000
/** A program of the project answers, so what is read whole has a bound: more than the largest message the inbox shows. */
const largestAnswer = 64 * 1024 * 1024

/** Hands on the inbox of a project’s mail catcher. What it says is read again by its schema: a program of the project answers. */
export function mailHandlers({ store, engine, workers, reveal }: MailDeps, { find }: ProjectAnswers): MailHandlers {
  const ask = async (
    row: ProjectRow,
    path: string,
    caller: AbortSignal,
    init: { readonly method?: string; readonly body?: string } = {},
  ): Promise<Response> => {
    const kind = catchers.find((candidate) => row.spec.services[candidate.name]?.enabled === true)
    if (kind?.inboxPort === undefined)
      throw new ProblemError('not_found', 'The project has no mail catcher.', {
        hint: `Enable one: ${catchers.map((candidate) => candidate.name).join(', ')}.`,
      })
    const address = await engine.address({ project: row.id, workload: kind.name }, kind.inboxPort)
    const handle = await store.secrets.find(row.id, serviceSecret(kind.name, inboxSecret))
    if (address === null || handle === null)
      throw new ProblemError('not_running', `${kind.label} does not run, so its inbox cannot be read.`, {
        hint: 'Start the project. Mails that were caught before are still there then.',
      })
    const slow = new AbortController()
    const timer = setTimeout(() => slow.abort(), timeoutMs)
    const answer = await fetch(`http://${address.host}:${address.port}${path}`, {
      ...init,
      headers: {
        authorization: `Bearer ${await reveal(handle)}`,
        ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      redirect: 'error',
      signal: AbortSignal.any([caller, slow.signal]),
    })
      .catch((error: unknown) => {
        throw new ProblemError('unavailable', `${kind.label} does not answer.`, { cause: error })
      })
      .finally(() => clearTimeout(timer))
    if (answer.ok) return answer
    const refusal = InboxRefusal.safeParse(await jsonOf(answer, workers))
    const message = refusal.success ? refusal.data.error.message : `${kind.label} answered with ${answer.status}.`
    if (answer.status === 404) throw new ProblemError('not_found', message)
    if (answer.status === 400) throw new ProblemError('invalid_request', message)
    throw new ProblemError('unavailable', message)
  }

  const read = async <T extends z.ZodType>(schema: T, answer: Response): Promise<z.output<T>> => {
    const parsed = schema.safeParse(await jsonOf(answer, workers))
    if (parsed.success) return parsed.data
    throw new ProblemError('unavailable', 'The mail catcher answered something that is no inbox.')
  }

  /** A mail never changes, so its name and length tell one state of the bytes from another. */
  const file = (answer: Response, type: string, name: string) => {
    const length = Number(answer.headers.get('content-length') ?? Number.NaN)
    return {
      status: 200,
      headers: { 'content-type': type, 'content-disposition': `attachment; filename="${name}"` },
      stream: answer.body ?? emptyStream(),
      ...(Number.isSafeInteger(length) ? { length, etag: `${name}-${length}` } : {}),
    }
  }

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
      await record(row, 'mail.update', { message: params.message, ...body }, context)
      return { status: 200, body: summary }
    },

    deleteMail: async ({ params }, context) => {
      const row = await find(params.id)
      await ask(row, inboxPaths.message(params.message), context.signal, { method: 'DELETE' })
      await record(row, 'mail.delete', { message: params.message }, context)
      return { status: 204 }
    },

    deleteAllMail: async ({ params }, context) => {
      const row = await find(params.id)
      await ask(row, inboxPaths.messages, context.signal, { method: 'DELETE' })
      await record(row, 'mail.delete', { messages: 'all' }, context)
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

  async function record(
    row: ProjectRow,
    action: string,
    changes: Readonly<Record<string, unknown>>,
    context: Parameters<Handlers['deleteMail']>[1],
  ): Promise<void> {
    await store.transaction((tx) =>
      tx.audit.append(context.audit({ action, target: row.slug, project: row.id, changes })),
    )
  }
}

/** Null for what is too large or no JSON. */
async function jsonOf(answer: Response, workers: Pick<Workers, 'run'>): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of answer.body ?? emptyStream()) {
      bytes += chunk.length
      if (bytes > largestAnswer) return null
      chunks.push(chunk)
    }
    const whole = new Uint8Array(Buffer.concat(chunks))
    return (await workers.run('json', { bytes: whole, mostValues: 20_000, deepest: 50 }, { ms: 5000 })).value
  } catch {
    return null
  }
}

async function* emptyStream(): AsyncIterable<Uint8Array> {}
