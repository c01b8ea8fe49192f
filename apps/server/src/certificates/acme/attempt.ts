import {
  AcmeError,
  type Attempts,
  afterFailure,
  afterSuccess,
  begun,
  challengeRefusal,
  directoryOf,
  type Obtained,
  type OpenOrder,
  obtain,
  renewalTime,
  type Scheduled,
  type Solver,
} from '@stackquay/acme'
import { type AcmeAttemptsRow, byTheService, type Store } from '@stackquay/store'
import type { Config } from '../../config.ts'
import { checkedLookup } from '../../webhooks/post.ts'
import { addressBlocker } from '../../webhooks/receivers.ts'
import type { CertificateKeeper } from '../keeper.ts'
import { certificateEvent } from '../local-certificates.ts'
import { reachablePorts } from './read-input.ts'
import { type AcmeSecrets, readAcme, type StoredAcme, writeAcme } from './stored.ts'

export interface AttemptDeps {
  readonly store: Store
  readonly certificates: Pick<CertificateKeeper, 'renew'>
  readonly config: Config
  readonly proofs: { solver(settings: StoredAcme, secrets: AcmeSecrets): Solver }
  readonly now: () => Date
  readonly signal: AbortSignal
  onError(error: unknown, what: string): void
}

/** One name of those that are wanted, with what is known of it. */
export interface WantedCertificate extends Scheduled {
  readonly row: AcmeAttemptsRow
  /** Of the certificate there is. */
  readonly id: string | null
}

/** Asks the authority once. However it ends, it is written down when the next time may be; a certificate of before stays until its successor is there. */
export async function attempt(
  one: WantedCertificate,
  settings: StoredAcme,
  secrets: AcmeSecrets,
  deps: AttemptDeps,
): Promise<void> {
  const { store, now, signal } = deps
  const put = (attempts: Attempts, more: Partial<AcmeAttemptsRow> = {}) =>
    store.transaction((tx) => tx.acme.put({ ...one.row, ...more, attempts: { ...attempts } }))
  // Before anything is asked: a service that is killed from here on has tried once.
  await put(begun(one.attempts, now(), Math.random()))
  let made: Obtained
  try {
    made = await ask(one, settings, secrets, deps)
  } catch (error) {
    // Its order goes on after the next start.
    if (signal.aborted) return
    await failed(one, error, deps, put)
    return
  }
  await keep(one, made, deps)
  await deps.certificates.renew()
}

async function ask(
  { subject, names, row, id }: WantedCertificate,
  settings: StoredAcme,
  secrets: AcmeSecrets,
  { store, config, proofs, now, signal }: AttemptDeps,
): Promise<Obtained> {
  const why = challengeRefusal(settings.challenge, names, reachablePorts(config, settings))
  if (why !== null) throw new AcmeError('challenge_unavailable', why.detail, { name: subject })
  const order = await store.acme.order(subject).catch(() => null)
  const { externalAccount } = settings
  return obtain({
    directoryUrl: directoryOf(settings.directory),
    roots: settings.roots ?? undefined,
    lookup: checkedLookup(addressBlocker),
    account: {
      key: secrets.accountKey,
      url: settings.accountUrl,
      email: settings.email,
      termsAgreed: true,
      external:
        externalAccount === null || secrets.hmacKey === null
          ? null
          : { keyId: externalAccount.keyId, hmacKey: secrets.hmacKey },
    },
    names,
    replaces: row.renewal?.certificate === id ? row.renewal.replaces : null,
    solver: proofs.solver(settings, secrets),
    order: order === null ? null : (JSON.parse(order.expose()) as OpenOrder),
    remember: (next) =>
      store.transaction((tx) => tx.acme.putOrder(subject, next === null ? null : JSON.stringify(next))),
    rememberAccount: async (url) => {
      if (settings.accountUrl !== url) await rememberAccount(store, settings, url)
    },
    now,
    signal,
  })
}

/** Unless other settings came meanwhile, with an account of their own. */
async function rememberAccount(
  store: Store,
  { directory, externalAccount }: StoredAcme,
  accountUrl: string,
): Promise<void> {
  await store.transaction(async (tx) => {
    const current = await readAcme(store)
    const isSame = current?.directory === directory && current.externalAccount?.keyId === externalAccount?.keyId
    if (current !== null && isSame) await writeAcme(tx, { ...current, accountUrl })
  })
}

async function failed(
  { attempts, subject, id }: WantedCertificate,
  error: unknown,
  { store, now, onError }: AttemptDeps,
  put: (attempts: Attempts) => Promise<void>,
): Promise<void> {
  const isKnown = error instanceof AcmeError
  if (!isKnown) onError(error, `getting a certificate for ${subject}`)
  const failure = isKnown
    ? error.toFailure()
    : new AcmeError('server_error', 'It failed inside; see the log of the service.').toFailure()
  const at = now().toISOString()
  await put(afterFailure(attempts, failure, now(), Math.random()))
  await store.transaction(async (tx) => {
    if (id !== null) await tx.certificates.fail(id, { at, detail: failure.detail })
    if (failure.code === 'account_refused') {
      // It may have been deleted there: looked up, or made, next time.
      const current = await readAcme(store)
      if (current !== null) await writeAcme(tx, { ...current, accountUrl: null })
    }
    await tx.events.append(certificateEvent())
  })
}

async function keep(
  { attempts, row, subject, names }: WantedCertificate,
  made: Obtained,
  { store, now }: AttemptDeps,
): Promise<void> {
  const chance = Math.random()
  const certificate = {
    source: 'acme',
    ...{ subject, names, certificate: made.certificate },
    ...{ notBefore: made.notBefore.toISOString(), notAfter: made.notAfter.toISOString() },
    nextRenewal: renewalTime(made, null, chance).toISOString(),
  } as const
  await store.transaction(async (tx) => {
    const { id } = await tx.certificates.put(certificate, made.key)
    await tx.acme.put({ ...row, attempts: { ...afterSuccess(attempts, now()) }, chance, renewal: null })
    await tx.acme.putOrder(subject, null)
    const after = { id, source: 'acme', names, notAfter: certificate.notAfter }
    await tx.audit.append(byTheService({ action: 'certificate.obtain', target: subject, changes: { after } }))
    await tx.events.append(certificateEvent())
  })
}
