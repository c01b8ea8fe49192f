import { z } from 'zod'
import { AcmeError } from '../failure.ts'
import { type HttpsAnswer, httpsRequest, type Reach } from './https-request.ts'
import type { Signer } from './jws.ts'
import { jsonOf, problemType, readProblem, refusalOf } from './problems.ts'

const Directory = z.object({
  newNonce: z.string(),
  newAccount: z.string(),
  newOrder: z.string(),
  renewalInfo: z.string().optional(),
  meta: z
    .object({
      termsOfService: z.string().optional(),
      externalAccountRequired: z.boolean().optional(),
      profiles: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
})
export type Directory = z.infer<typeof Directory>

export interface SessionOptions extends Reach {
  readonly directoryUrl: string
  readonly now: () => Date
  readonly signal: AbortSignal
}

/** Talks to one certificate authority: nonces, signatures, problems. */
export interface Session {
  readonly directory: Directory
  readonly host: string
  /** Signed with the key itself, as only a new account is. */
  postAsNew(url: string, signer: Signer, payload: object): Promise<HttpsAnswer>
  /** Signed for the account. Without a payload it reads ("POST-as-GET"). */
  post(
    url: string,
    as: { readonly signer: Signer; readonly accountUrl: string },
    payload?: object,
  ): Promise<HttpsAnswer>
  get(url: string): Promise<HttpsAnswer>
}

/** An answer to a nonce that is refused brings a new one. Servers may refuse several in a row, but not for ever. */
const mostNonces = 10
/** Signatures carry no time, but certificates do: with more than this renewals and validity make no sense. */
const mostClockErrorMs = 60 * 60 * 1000

export async function openSession(options: SessionOptions): Promise<Session> {
  const { directoryUrl, now, signal } = options
  const host = hostOf(directoryUrl)
  const scheme = new URL(directoryUrl).protocol
  const call = (request: Parameters<typeof httpsRequest>[0]) => {
    // What a server answers leads to no server of this machine that speaks without TLS.
    if (URL.parse(request.url)?.protocol === scheme) return httpsRequest(request, options, signal)
    throw new AcmeError('server_error', `${host} answers an address that is not ${scheme}//.`)
  }
  const found = await call({ method: 'GET', url: directoryUrl })
  requireClock(found, host, now())
  if (found.status !== 200) throw refusalOf(found, host, now())
  const parsed = Directory.safeParse(jsonOf(found.body))
  if (!parsed.success)
    throw new AcmeError(
      'server_error',
      `${directoryUrl} does not answer the directory of an ACME server. Check the address.`,
    )
  const directory = parsed.data
  let nonce: string | undefined

  const takeNonce = async () => {
    const answer = nonce === undefined ? await call({ method: 'HEAD', url: directory.newNonce }) : null
    if (answer !== null && answer.status >= 400) throw refusalOf(answer, host, now())
    const taken = nonce ?? header(answer, 'replay-nonce')
    nonce = undefined
    if (taken === undefined) throw new AcmeError('server_error', `${host} gives no nonce.`)
    return taken
  }
  const send = async (url: string, signer: Signer, who: object, payload: string): Promise<HttpsAnswer> => {
    for (let attempt = 1; ; attempt += 1) {
      const body = signer.sign({ ...who, nonce: await takeNonce(), url }, payload)
      const answer = await call({ method: 'POST', url, headers: { 'content-type': 'application/jose+json' }, body })
      nonce = header(answer, 'replay-nonce')
      if (answer.status < 400) return answer
      const isBadNonce = problemType(readProblem(jsonOf(answer.body))) === 'badNonce'
      if (!isBadNonce || attempt === mostNonces) throw refusalOf(answer, host, now())
    }
  }
  return {
    directory,
    host,
    postAsNew: (url, signer, payload) => send(url, signer, { jwk: signer.jwk }, JSON.stringify(payload)),
    post: (url, { signer, accountUrl }, payload) =>
      send(url, signer, { kid: accountUrl }, payload === undefined ? '' : JSON.stringify(payload)),
    get: (url) => call({ method: 'GET', url }),
  }
}

function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    throw new AcmeError('server_unreachable', 'The address of the ACME server is not a URL.')
  }
}

export function header(answer: HttpsAnswer | null, name: string): string | undefined {
  const value = answer?.headers[name]
  return typeof value === 'string' ? value : undefined
}

function requireClock(answer: HttpsAnswer, host: string, now: Date): void {
  const theirs = Date.parse(header(answer, 'date') ?? '')
  if (!Number.isFinite(theirs)) return
  const error = now.getTime() - theirs
  if (Math.abs(error) <= mostClockErrorMs) return
  const by = spokenDuration(Math.abs(error))
  throw new AcmeError(
    'clock_off',
    `The clock of this machine is ${by} ${error > 0 ? 'ahead of' : 'behind'} the one of ${host}. Set it, for example with NTP.`,
  )
}

function spokenDuration(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes < 120) return `${minutes} minutes`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} hours` : `${Math.round(hours / 24)} days`
}
