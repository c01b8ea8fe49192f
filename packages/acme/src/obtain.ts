import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { certificateRequest } from './certificates.ts'
import type { Proof, Solver } from './challenges/solver.ts'
import { AcmeError } from './failure.ts'
import { type Account, type AccountSettings, openAccount } from './protocol/account.ts'
import type { Reach } from './protocol/https-request.ts'
import { newKey } from './protocol/jws.ts'
import {
  type Authorization,
  newOrder,
  type Order,
  readAuthorization,
  readOrder,
  waitForAuthorization,
  waitForOrder,
} from './protocol/order.ts'
import { openSession, type Session } from './protocol/session.ts'
import { normalNames } from './rules/names.ts'

/** An order under way. The caller keeps it, sealed (the key is in it): whoever is killed goes on with it. */
export interface OpenOrder {
  readonly url: string
  readonly key: string
  readonly names: readonly string[]
  /** What was put somewhere and must be taken away again. */
  readonly proofs: readonly Proof[]
}

export interface ObtainOptions extends Reach {
  readonly directoryUrl: string
  readonly account: AccountSettings
  readonly names: readonly string[]
  readonly profile?: string | null
  readonly replaces?: string | null
  readonly solver: Solver
  /** What `remember` was told last, of an attempt that did not come to its end. */
  readonly order?: OpenOrder | null
  /** Told before each step that leaves something; null when nothing is left. Awaited. */
  remember(order: OpenOrder | null): Promise<void>
  /** Told the address of the account once it is known. */
  rememberAccount?(url: string): Promise<void>
  readonly now: () => Date
  readonly signal: AbortSignal
  readonly mostWaitMs?: number
}

export interface Obtained {
  /** PEM: the leaf, then what it is signed by. */
  readonly certificate: string
  readonly key: string
  readonly notBefore: Date
  readonly notAfter: Date
}

/** How long one decision of the authority is waited for. */
const usualWaitMs = 5 * 60_000

export async function obtain(options: ObtainOptions): Promise<Obtained> {
  const session = await openSession(options)
  const account = await openAccount(session, options.account)
  await options.rememberAccount?.(account.accountUrl)
  const names = normalNames(options.names)
  const { open, order } = await takeUp(session, account, names, options)
  const work = new Work(session, account, options, open)
  try {
    const ready = order.status === 'pending' ? await work.prove(order) : order
    const done = await work.finalize(ready)
    const certificate = await download(session, account, done)
    const result = checked(certificate, open.key, names, session.host)
    await work.cleanUp()
    await options.remember(null)
    return result
  } catch (error) {
    // Whoever is stopped leaves the order open for the next time; all else is over, so that the next attempt is a new one.
    const isStopped = options.signal.aborted
    const isClean = await work.cleanUp()
    if (!isStopped && isClean) await options.remember(null)
    throw error
  }
}

/** The order of before when it can still be used, else a new one. What it left somewhere is known either way. */
async function takeUp(
  session: Session,
  account: Account,
  names: readonly string[],
  options: ObtainOptions,
): Promise<{ readonly open: OpenOrder; readonly order: Order }> {
  const before = options.order ?? null
  if (before !== null && before.names.join() === names.join()) {
    const order = await readOrder(session, account, before.url).catch(() => null)
    if (order !== null && order.status !== 'invalid') return { open: before, order }
  }
  for (const proof of before?.proofs ?? []) await options.solver.cleanUp(proof, options.signal)
  const url = await newOrder(session, account, {
    names,
    profile: options.profile ?? null,
    replaces: options.replaces ?? null,
  })
  const open: OpenOrder = { url, key: newKey(), names, proofs: [] }
  await options.remember(open)
  return { open, order: await readOrder(session, account, url) }
}

class Work {
  readonly #session: Session
  readonly #account: Account
  readonly #options: ObtainOptions
  #open: OpenOrder

  constructor(session: Session, account: Account, options: ObtainOptions, open: OpenOrder) {
    this.#session = session
    this.#account = account
    this.#options = options
    this.#open = open
  }

  get #patience() {
    const { now, signal, mostWaitMs = usualWaitMs } = this.#options
    return { now, signal, mostMs: mostWaitMs }
  }

  /** Presents all proofs, waits until they are seen, and lets the authority look. */
  async prove(order: Order): Promise<Order> {
    const { solver, signal } = this.#options
    const pending: { readonly url: string; readonly proof: Proof; readonly challengeUrl: string }[] = []
    for (const url of order.authorizations) {
      const authorization = await readAuthorization(this.#session, this.#account, url)
      if (authorization.status === 'valid') continue
      const challenge = this.#challengeOf(authorization)
      pending.push({ url, ...challenge })
    }
    const proofs = pending.map(({ proof }) => proof)
    // Written down first: of two that are killed here, none leaves a record that nobody knows of.
    this.#open = { ...this.#open, proofs: [...this.#open.proofs.filter((old) => !isIn(old, proofs)), ...proofs] }
    await this.#options.remember(this.#open)
    for (const proof of proofs) await solver.present(proof, signal)
    for (const proof of proofs) await solver.ready(proof, signal)
    for (const { challengeUrl } of pending) await this.#session.post(challengeUrl, this.#account, {})
    for (const { url } of pending) await waitForAuthorization(this.#session, this.#account, url, this.#patience)
    return waitForOrder(this.#session, this.#account, this.#open.url, 'ready', this.#patience)
  }

  #challengeOf({ identifier, challenges }: Authorization) {
    const { type } = this.#options.solver
    // It names the host that answers and the record that is written: only ones that were asked for.
    if (![identifier.value, `*.${identifier.value}`].some((name) => this.#open.names.includes(name)))
      throw new AcmeError('server_error', `${this.#session.host} asks for a proof of ${identifier.value}.`)
    const challenge = challenges.find((one) => one.type === type)
    if (challenge?.token === undefined || !/^[A-Za-z0-9_-]{1,256}$/.test(challenge.token))
      throw new AcmeError(
        'challenge_unavailable',
        `${this.#session.host} does not offer ${type} for ${identifier.value}, only ${challenges.map((one) => one.type).join(', ') || 'nothing'}.`,
        { name: identifier.value },
      )
    const { token, url } = challenge
    const keyAuthorization = `${token}.${this.#account.signer.thumbprint}`
    return { challengeUrl: url, proof: { name: identifier.value, token, keyAuthorization } }
  }

  async finalize(order: Order): Promise<Order> {
    if (order.status === 'valid') return order
    if (order.status === 'ready')
      await this.#session.post(order.finalize, this.#account, {
        csr: await certificateRequest(this.#open.names, this.#open.key),
      })
    return waitForOrder(this.#session, this.#account, this.#open.url, 'valid', this.#patience)
  }

  /** Always tried for all of them, even of an attempt that is stopped. Answers whether nothing is left. */
  async cleanUp(): Promise<boolean> {
    let isClean = true
    for (const proof of this.#open.proofs)
      await this.#options.solver
        .cleanUp(proof, AbortSignal.timeout(this.#options.signal.aborted ? hastyCleanUpMs : cleanUpMs))
        .catch(() => {
          isClean = false
        })
    return isClean
  }
}

const cleanUpMs = 30_000
/** Whoever ends waits for it; what is left is known, and taken away the next time. */
const hastyCleanUpMs = 5000

function isIn({ name, token }: Proof, proofs: readonly Proof[]): boolean {
  return proofs.some((proof) => proof.name === name && proof.token === token)
}

async function download(session: Session, account: Account, order: Order): Promise<string> {
  if (order.certificate === undefined)
    throw new AcmeError('server_error', `${session.host} does not say where the certificate is.`)
  return (await session.post(order.certificate, account)).body.toString()
}

const blocks = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g

/** What came is what was ordered: our key, all names, and a chain that TLS takes. A server is not believed. */
function checked(pem: string, keyPem: string, names: readonly string[], host: string): Obtained {
  const wrong = (why: string) => new AcmeError('server_error', `${host} answered a certificate that ${why}.`)
  let leaf: X509Certificate
  try {
    leaf = new X509Certificate(pem)
  } catch {
    throw wrong('cannot be read')
  }
  if (!leaf.checkPrivateKey(createPrivateKey(keyPem))) throw wrong('is for another key')
  try {
    // The proxy takes all certificates or none: one that cannot be used must not keep the others from it.
    createSecureContext({ cert: pem, key: keyPem })
    for (const [block] of pem.matchAll(blocks)) new X509Certificate(block)
  } catch {
    throw wrong('cannot be used')
  }
  const missing = names.find((name) => !(leaf.subjectAltName ?? '').split(', ').includes(`DNS:${name}`))
  if (missing !== undefined) throw wrong(`lacks ${missing}`)
  return {
    certificate: pem.trimEnd().concat('\n'),
    key: keyPem,
    notBefore: new Date(leaf.validFrom),
    notAfter: new Date(leaf.validTo),
  }
}
