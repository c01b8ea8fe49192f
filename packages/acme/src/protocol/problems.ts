import { z } from 'zod'
import { AcmeError, quoted } from '../failure.ts'
import type { HttpsAnswer } from './https-request.ts'
import { retryAfter } from './retry-after.ts'

const Problem = z.object({
  type: z.string().optional(),
  detail: z.string().optional(),
  identifier: z.object({ value: z.string() }).optional().catch(undefined),
  subproblems: z
    .array(
      z.object({
        type: z.string().optional(),
        detail: z.string().optional(),
        identifier: z.object({ value: z.string() }).optional(),
      }),
    )
    .optional()
    .catch(undefined),
})
export type Problem = z.infer<typeof Problem>

export function readProblem(body: unknown): Problem {
  const parsed = Problem.safeParse(body)
  return parsed.success ? parsed.data : {}
}

/** The last part of a type of RFC 8555, 6.7; empty for another. */
export function problemType({ type }: Problem): string {
  const prefix = 'urn:ietf:params:acme:error:'
  return type?.startsWith(prefix) === true ? type.slice(prefix.length) : ''
}

/** An answer that is a refusal, as an error that says what to do. */
export function refusalOf(answer: HttpsAnswer, host: string, now: Date): AcmeError {
  const problem = readProblem(jsonOf(answer.body))
  const notBefore = retryAfter(answer.headers['retry-after'], now)
  const type = problemType(problem)
  const said = saidBy(problem) || `status ${answer.status}`
  const name = problem.identifier?.value ?? problem.subproblems?.[0]?.identifier?.value ?? null
  switch (type) {
    case 'rateLimited':
      return rateLimited(host, said, notBefore, name)
    case 'externalAccountRequired':
      return new AcmeError(
        'external_account_required',
        `${host} gives certificates only to accounts it knows (${said}). Give the key ID and the HMAC key that it shows for external account binding.`,
      )
    case 'userActionRequired':
      return new AcmeError('terms_not_agreed', `${host} has new terms that must be agreed to: ${said}`)
    case 'accountDoesNotExist':
    case 'invalidContact':
    case 'unsupportedContact':
    case 'unauthorized':
    case 'badPublicKey':
      return new AcmeError('account_refused', `${host} refuses the account: ${said}`, { notBefore })
    case 'rejectedIdentifier':
    case 'unsupportedIdentifier':
    case 'caa':
      return new AcmeError('name_refused', `${host} gives no certificate for this name: ${said}`, { name, notBefore })
    default:
      if (answer.status === 429) return rateLimited(host, said, notBefore, name)
      return new AcmeError('server_error', `${host} answers ${answer.status}: ${said}`, { name, notBefore })
  }
}

function rateLimited(host: string, said: string, notBefore: Date | null, name: string | null): AcmeError {
  const until = notBefore === null ? '' : ` Nothing is asked before ${notBefore.toISOString()}.`
  return new AcmeError('rate_limited', `${host} has had too many requests from here: ${said}.${until}`, {
    name,
    notBefore,
  })
}

/** Why the certificate authority found no proof, in its own words. */
export function challengeFailure(problem: Problem, name: string, host: string): AcmeError {
  const said = saidBy(problem) || 'it does not say why'
  const type = problemType(problem)
  if (type === 'dns')
    return new AcmeError('challenge_failed', `${host} cannot find ${name} in the DNS: ${said}`, { name })
  if (type === 'caa')
    return new AcmeError('name_refused', `A CAA record forbids ${host} to give a certificate for ${name}: ${said}`, {
      name,
    })
  return new AcmeError('challenge_failed', `${host} did not find the proof for ${name}: ${said}`, { name })
}

function saidBy(problem: Problem): string {
  const parts = [problem.detail, ...(problem.subproblems ?? []).map(({ detail }) => detail)]
  return quoted(parts.filter((part) => part !== undefined && part !== '').join(' '))
}

export function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return null
  }
}
