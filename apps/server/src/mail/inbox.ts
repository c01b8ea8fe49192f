import { InboxRefusal, inboxSecret, serviceTypes } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import { serviceSecret } from '@stackquay/domain'
import type { Engine, SecretRef } from '@stackquay/engine-api'
import type { ProjectRow, Store } from '@stackquay/store'
import type { z } from 'zod'
import type { Workers } from '../workers/workers.ts'

export interface MailDeps {
  readonly store: Store
  readonly engine: Pick<Engine, 'address'>
  readonly workers: Pick<Workers, 'run'>
  reveal(ref: SecretRef): Promise<string>
}

const catchers = serviceTypes.filter((kind) => kind.inboxPort !== undefined)
/** Until it begins to answer; how long a download takes is the reader’s affair. */
const timeoutMs = 15_000
/** A program of the project answers, so what is read whole has a bound: more than the largest message the inbox shows. */
const largestAnswer = 64 * 1024 * 1024

export interface Inbox {
  /** Throws the problem that the mail catcher's refusal is, or that it is not there or does not answer. */
  ask(
    row: ProjectRow,
    path: string,
    caller: AbortSignal,
    init?: { readonly method?: string; readonly body?: string },
  ): Promise<Response>
  /** Throws `unavailable` for what the schema does not know. */
  read<T extends z.ZodType>(schema: T, answer: Response): Promise<z.output<T>>
}

/** The mail catcher of a project, as it answers. */
export function createInbox({ store, engine, workers, reveal }: MailDeps): Inbox {
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

  return { ask, read }
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

export async function* emptyStream(): AsyncIterable<Uint8Array> {}
