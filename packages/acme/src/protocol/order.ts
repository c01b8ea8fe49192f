import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { AcmeError } from '../failure.ts'
import type { Account } from './account.ts'
import { challengeFailure, jsonOf, type Problem, readProblem } from './problems.ts'
import { retryAfter } from './retry-after.ts'
import { header, type Session } from './session.ts'

const Order = z.object({
  status: z.enum(['pending', 'ready', 'processing', 'valid', 'invalid']),
  authorizations: z.array(z.string()).max(100),
  finalize: z.string(),
  certificate: z.string().optional(),
  error: z.unknown().optional(),
})
export type Order = z.infer<typeof Order>

const Challenge = z.object({
  type: z.string(),
  url: z.string(),
  token: z.string().optional(),
  status: z.string(),
  error: z.unknown().optional(),
})
const Authorization = z.object({
  status: z.enum(['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked']),
  identifier: z.object({ type: z.string(), value: z.string() }),
  wildcard: z.boolean().optional(),
  challenges: z.array(Challenge).max(20),
})
export type Authorization = z.infer<typeof Authorization>

export interface OrderRequest {
  readonly names: readonly string[]
  readonly profile?: string | null
  /** ARI's name of the certificate that this one follows. */
  readonly replaces?: string | null
}

export async function newOrder(session: Session, account: Account, request: OrderRequest): Promise<string> {
  const payload = {
    identifiers: request.names.map((value) => ({ type: 'dns', value })),
    ...(request.profile == null ? {} : { profile: request.profile }),
  }
  const { newOrder: url } = session.directory
  const answer = await session
    .post(url, account, request.replaces == null ? payload : { ...payload, replaces: request.replaces })
    .catch((error: unknown) => {
      // Replaced already, or unknown to this authority: the order is as good without.
      if (request.replaces == null || !(error instanceof AcmeError) || error.code !== 'server_error') throw error
      return session.post(url, account, payload)
    })
  const orderUrl = header(answer, 'location')
  if (orderUrl === undefined) throw new AcmeError('server_error', `${session.host} does not say where the order is.`)
  return orderUrl
}

export async function readOrder(session: Session, account: Account, url: string): Promise<Order> {
  const answer = await session.post(url, account)
  return parsed(Order, answer.body, session)
}

export async function readAuthorization(session: Session, account: Account, url: string): Promise<Authorization> {
  const answer = await session.post(url, account)
  return parsed(Authorization, answer.body, session)
}

export interface Patience {
  readonly now: () => Date
  readonly signal: AbortSignal
  readonly mostMs: number
}

/** Until the certificate authority has made up its mind about a name. */
export async function waitForAuthorization(
  session: Session,
  account: Account,
  url: string,
  patience: Patience,
): Promise<void> {
  await poll(session, account, url, patience, (body) => {
    const authorization = parsed(Authorization, body, session)
    if (authorization.status === 'pending') return null
    if (authorization.status === 'valid') return authorization
    throw challengeFailure(problemOf(authorization), authorization.identifier.value, session.host)
  })
}

export function problemOf({ challenges }: Authorization): Problem {
  return readProblem(challenges.find(({ error }) => error !== undefined)?.error)
}

/** Until it is ready for the request, or valid: then the certificate is there. */
export async function waitForOrder(
  session: Session,
  account: Account,
  url: string,
  until: 'ready' | 'valid',
  patience: Patience,
): Promise<Order> {
  return poll(session, account, url, patience, (body) => {
    const order = parsed(Order, body, session)
    if (order.status === 'valid' || order.status === until) return order
    if (order.status !== 'invalid') return null
    const { detail } = readProblem(order.error)
    throw new AcmeError('server_error', `${session.host} refused the order: ${detail ?? 'it does not say why'}`)
  })
}

async function poll<Result>(
  session: Session,
  account: Account,
  url: string,
  { now, signal, mostMs }: Patience,
  read: (body: Buffer) => Result | null,
): Promise<Result> {
  // By a clock that nobody sets: a certificate is a matter of minutes.
  const deadline = performance.now() + mostMs
  for (let pause = 500; ; pause = Math.min(pause * 1.5, 10_000)) {
    const answer = await session.post(url, account)
    const result = read(answer.body)
    if (result !== null) return result
    if (performance.now() > deadline)
      throw new AcmeError(
        'server_error',
        `${session.host} did not decide within ${Math.round(mostMs / 60_000)} minutes.`,
      )
    const asked = retryAfter(header(answer, 'retry-after'), now())
    const wait = asked === null ? pause : Math.min(Math.max(asked.getTime() - now().getTime(), 250), 30_000)
    await sleep(wait, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

function parsed<Shape extends z.ZodType>(shape: Shape, body: Buffer, session: Session): z.infer<Shape> {
  const result = shape.safeParse(jsonOf(body))
  if (!result.success) throw new AcmeError('server_error', `${session.host} answers something that is not of RFC 8555.`)
  return result.data
}
