import { visibleText } from '@stackquay/contract'
import type { Incident } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { CertificateKeeper } from '../certificates/keeper.ts'
import { diskCheck } from '../system/disk-check.ts'
import type { Notifier } from './dispatcher.ts'
import { type News, ofInstance } from './news.ts'

export interface WatchDeps {
  readonly store: Store
  readonly notifier: Pick<Notifier, 'take'>
  readonly home: string
  readonly certificates: Pick<CertificateKeeper, 'troubles'>
  readonly now: () => Date
  onError(error: unknown, what: string): void
}

const diskEveryMs = 5 * 60_000
/** Reading the whole audit log takes a while where it is long. */
const auditEveryMs = 24 * 3600_000

/** Looks at what nothing tells by itself: the disk, and whether the audit log holds; the latter at each start too. Answers what ends it. */
export function watchInstance(deps: WatchDeps): () => void {
  let auditedAt = Number.NEGATIVE_INFINITY
  const look = async () => {
    const { store, notifier, now } = deps
    const wanted = new Set((await store.notifications.all()).flatMap(({ enabled, events }) => (enabled ? events : [])))
    if (wanted.has('disk')) await notifier.take([await diskNews(deps)])
    if (wanted.has('certificate')) await notifier.take(certificateNews(deps))
    if (!wanted.has('audit-broken') || now().getTime() - auditedAt < auditEveryMs) return
    auditedAt = now().getTime()
    await notifier.take([await auditNews(deps)])
  }
  const begin = () => void look().catch((error: unknown) => deps.onError(error, 'looking for what to notify of'))
  begin()
  const timer = setInterval(begin, diskEveryMs).unref()
  return () => clearInterval(timer)
}

export async function diskNews({ home, now }: Pick<WatchDeps, 'home' | 'now'>): Promise<News> {
  const { status, detail, hint } = await diskCheck(home)
  const title = status === 'error' ? 'The disk is full' : 'The disk is nearly full'
  const found = status === 'ok' ? null : { title, detail: [detail, hint].join(' '), mark: status }
  return seen('disk', 'disk', found, 'The disk has room again', now)
}

export async function auditNews({ store, now }: Pick<WatchDeps, 'store' | 'now'>): Promise<News> {
  const { ok, firstBroken, reason } = await store.audit.verify()
  const title = `The audit log does not hold from entry ${firstBroken} on`
  const found = ok ? null : { title, detail: reason ?? '', mark: String(firstBroken) }
  return seen('audit', 'audit-broken', found, 'The audit log holds again', now)
}

const certificateWords = {
  expired: 'has ended',
  expiring: 'ends soon',
  failing: 'is not renewed',
  missing: 'could not be obtained',
} as const

/** Each certificate is a thing of its own, and well again when it, or another one for its hosts, is fine. */
export function certificateNews({ certificates, now }: Pick<WatchDeps, 'certificates' | 'now'>): News[] {
  const at = now().toISOString()
  const prefix = `${ofInstance}/certificate/`
  const incidents = certificates.troubles().map(({ id, kind, hosts, notAfter, reason }): Incident => {
    const title = `The certificate of ${hosts[0]} ${certificateWords[kind]}`
    const until = notAfter === null ? [] : [`It is valid until ${notAfter.slice(0, 10)}.`]
    const detail = [...until, ...(reason === null ? [] : [reason])].join(' ')
    const fixed = { event: 'certificate', project: null, lasts: true, at } as const
    return { ...fixed, key: `${prefix}${id}`, mark: kind, title: visibleText(title), detail: visibleText(detail) }
  })
  const open = new Set(incidents.map(({ key }) => key))
  const ending = (key: string) =>
    open.has(key) ? null : { key, at, title: 'The certificate is in order again', quietly: false }
  return [{ incidents, wellBelow: { prefix, ending } }]
}

function seen(
  key: string,
  event: Incident['event'],
  found: Pick<Incident, 'title' | 'detail' | 'mark'> | null,
  well: string,
  now: () => Date,
): News {
  const at = now().toISOString()
  const shared = { key: `${ofInstance}/${key}`, at }
  if (found !== null) {
    return { incidents: [{ ...shared, ...found, event, project: null, lasts: true }], wellBelow: null }
  }
  return {
    incidents: [],
    wellBelow: { prefix: shared.key, ending: () => ({ ...shared, title: well, quietly: false }) },
  }
}
