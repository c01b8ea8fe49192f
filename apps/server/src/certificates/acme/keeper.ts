import { type Attempts, askedByPerson, nextDue, noAttempts, wantedCertificates } from '@stackquay/acme'
import type { CertificateTrouble } from '@stackquay/domain'
import type { AcmeAttemptsRow, CertificateRow } from '@stackquay/store'
import type { CertificateKeeper } from '../keeper.ts'
import { type AttemptDeps, attempt, type WantedCertificate } from './attempt.ts'
import { createProofs } from './proofs.ts'
import { readAcme, readAcmeSecrets, type StoredAcme } from './stored.ts'
import { askWindows } from './windows.ts'

/** Gets certificates from an authority and renews them, one at a time, while settings for it are there. */
export interface AcmeKeeper {
  /** All that are wanted with these settings, with what is known of each. */
  wanted(settings: StoredAcme): Promise<readonly WantedCertificate[]>
  /** The name that is being asked for. */
  running(): string | null
  /** Names that have no certificate and failed more than once. */
  troubles(): readonly CertificateTrouble[]
  /** After settings or names changed. */
  wake(): void
  /** A person asks for it, for one name or all: own pauses are over, limits of the authority hold. */
  tryNow(name?: string): Promise<void>
  close(): Promise<void>
}

export interface AcmeKeeperDeps extends Omit<AttemptDeps, 'certificates' | 'proofs' | 'signal'> {
  readonly certificates: Pick<CertificateKeeper, 'needed' | 'renew' | 'challenge'>
  /** Projects and proxy are known from then on. */
  readonly ready: Promise<void>
}

const longestSleepMs = 3600_000
const shortestSleepMs = 1000
/** What changes together is looked at together. */
const waitMs = 300
const relevant: ReadonlySet<string> = new Set(['project.created', 'project.changed', 'project.deleted'])

export function openAcmeKeeper(given: AcmeKeeperDeps): AcmeKeeper {
  const { store, now, ready, onError } = given
  const life = new AbortController()
  const deps: AttemptDeps = { ...given, proofs: createProofs(given), signal: life.signal }
  const steps = createSteps(given, deps)
  let timer: NodeJS.Timeout | undefined
  let work: Promise<void> | null = null
  let isAsked = false

  const run = async () => {
    await ready
    let next: Date | null = now()
    while (!life.signal.aborted && next !== null) {
      isAsked = false
      next = await steps.next()
      if (next !== null && next.getTime() > now().getTime() && !isAsked) break
    }
    if (next !== null) sleepUntil(next)
  }
  const begin = () => {
    isAsked = true
    if (life.signal.aborted || work !== null) return
    work = run()
      .catch((error: unknown) => {
        if (!life.signal.aborted) onError(error, 'looking after certificates of an ACME authority')
        sleepUntil(new Date(now().getTime() + longestSleepMs))
      })
      .finally(() => {
        work = null
      })
  }
  const sleepUntil = (moment: Date, least = shortestSleepMs) => {
    clearTimeout(timer)
    if (life.signal.aborted) return
    const wait = Math.min(Math.max(moment.getTime() - now().getTime(), least), longestSleepMs)
    timer = setTimeout(begin, wait).unref()
  }
  const wake = () => {
    isAsked = true
    sleepUntil(now(), waitMs)
  }
  const stopListening = store.onCommit((events) => {
    if (events.some(({ type }) => relevant.has(type))) wake()
  })
  begin()
  return {
    wanted: steps.wanted,
    running: steps.running,
    troubles: steps.troubles,
    wake,
    tryNow: async (name) => {
      await store.transaction(async (tx) => {
        for (const row of (await store.acme.all()).filter(({ subject }) => name === undefined || subject === name))
          await tx.acme.put({ ...row, attempts: { ...askedByPerson(row.attempts as unknown as Attempts) } })
      })
      wake()
    },
    close: async () => {
      stopListening()
      clearTimeout(timer)
      life.abort(new Error('The service ends.'))
      await work
    },
  }
}

/** What is wanted, and the next attempt of it. */
function createSteps({ store, certificates, config, now }: AcmeKeeperDeps, deps: AttemptDeps) {
  let running: string | null = null
  let troubles: readonly CertificateTrouble[] = []

  const wanted = async ({ names, wildcard }: StoredAcme) => {
    const hosts = certificates.needed().map(({ host }) => host)
    const rows = new Map((await store.acme.all()).map((row) => [row.subject, row]))
    const held = new Map(ofAcme(await store.certificates.all()).map((row) => [row.subject, row]))
    return wantedCertificates({ names, wildcard, baseDomain: config.baseDomain, hosts }).map(
      (one): WantedCertificate => {
        const row = rows.get(one.subject) ?? fresh(one.subject)
        const certificate = held.get(one.subject) ?? null
        return { ...one, row, attempts: row.attempts as unknown as Attempts, certificate, id: certificate?.id ?? null }
      },
    )
  }
  /** One name, or none. Answers when to look again; null when nothing will come by itself. */
  const next = async (): Promise<Date | null> => {
    const settings = await readAcme(store)
    if (settings === null) {
      troubles = []
      return null
    }
    const secrets = await readAcmeSecrets(store)
    if (secrets === null) return null
    await askWindows(await wanted(settings), ofAcme(await store.certificates.all()), settings, deps)
    const all = await wanted(settings)
    troubles = all.flatMap(troubleOf)
    const { one, lookAt } = nextDue(all, now())
    if (one === null) return lookAt ?? new Date(now().getTime() + longestSleepMs)
    running = one.subject
    try {
      await attempt(one, settings, secrets, deps)
    } finally {
      running = null
    }
    return now()
  }
  return { wanted, next, running: () => running, troubles: () => troubles }
}

function ofAcme(rows: readonly CertificateRow[]): readonly CertificateRow[] {
  return rows.filter(({ source }) => source === 'acme')
}

function fresh(subject: string): AcmeAttemptsRow {
  return { subject, attempts: { ...noAttempts }, chance: Math.random(), renewal: null }
}

/** Whatever has a certificate is told by its own state. Once may be chance. */
function troubleOf({ subject, names, attempts, certificate }: WantedCertificate): readonly CertificateTrouble[] {
  if (certificate !== null || attempts.failure === null || attempts.failures < 2) return []
  const reason = attempts.failure.detail
  return [{ id: `acme/${subject}`, kind: 'missing', source: 'acme', names, notAfter: null, hosts: [subject], reason }]
}
