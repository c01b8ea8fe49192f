import { byTheService, type Store } from '@stackquay/store'
import type { Config } from './config.ts'

const everyMs = 60 * 60 * 1000
/** Stored answers of idempotent requests are kept a day. */
const answersForMs = 24 * 60 * 60 * 1000
/** Deliveries that ended are shown for a month. */
const deliveriesForMs = 30 * 24 * 60 * 60 * 1000
/** Of each channel. */
const keptNotifications = 500
/** Whoever was away for longer reads the present state instead. */
const keptEvents = 50_000

/** Entries of the audit log that are removed in one transaction. */
const auditTogether = 500

export interface Tidying {
  readonly store: Store
  readonly config: Pick<Config, 'auditDays'>
  readonly now: () => Date
  /** Addresses of before a rename lead to these projects no longer. */
  readonly namesExpired: (projects: readonly string[]) => Promise<void>
  readonly onError: (error: unknown, what: string) => void
}

/** Forgets what is kept for a time only, at once and then every hour. Answers the function that ends it. */
export function tidyRegularly({ onError, ...deps }: Tidying): () => void {
  const tidy = () => {
    forgetOld(deps).catch((error: unknown) => onError(error, 'tidying'))
  }
  tidy()
  const timer = setInterval(tidy, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

async function forgetOld(tidying: Omit<Tidying, 'onError'>): Promise<void> {
  const { store, now, namesExpired } = tidying
  const { last } = await store.events.range()
  const expired = await store.transaction(async (tx) => {
    await tx.idempotency.expire(new Date(now().getTime() - answersForMs).toISOString())
    await tx.webhooks.forgetDeliveries(new Date(now().getTime() - deliveriesForMs).toISOString())
    await tx.notifications.forgetDeliveries(
      new Date(now().getTime() - deliveriesForMs).toISOString(),
      keptNotifications,
    )
    if (last > keptEvents) await tx.events.trim(last - keptEvents)
    return tx.network.expireFormerSlugs(now().toISOString())
  })
  if (expired.length > 0) await namesExpired(expired)
  await forgetAudit(tidying)
}

/** The log says itself what it lost. */
async function forgetAudit({ store, config, now }: Pick<Tidying, 'store' | 'config' | 'now'>): Promise<void> {
  const days = config.auditDays
  if (days === null) return
  const before = new Date(now().getTime() - days * 86_400_000).toISOString()
  for (let removed = auditTogether; removed === auditTogether; ) {
    removed = await store.transaction(async (tx) => {
      const entries = await tx.audit.prune(before, auditTogether)
      if (entries > 0) await tx.audit.append(byTheService({ action: 'audit.prune', changes: { entries, before } }))
      return entries
    })
  }
}
