import { directoryOf, nextWindowQuestion, renewalTime, renewalWindow } from '@stackquay/acme'
import type { CertificateRow } from '@stackquay/store'
import { checkedLookup } from '../../webhooks/post.ts'
import { addressBlocker } from '../../webhooks/receivers.ts'
import type { AttemptDeps, WantedCertificate } from './attempt.ts'
import type { StoredAcme } from './stored.ts'

/** Asks the authority when it wants certificates renewed (RFC 9773), those whose time to ask has come. A failure costs nothing: the usual time holds. */
export async function askWindows(
  all: readonly WantedCertificate[],
  rows: readonly CertificateRow[],
  settings: StoredAcme,
  { store, now, signal }: Pick<AttemptDeps, 'store' | 'now' | 'signal'>,
): Promise<void> {
  let isDown = false
  for (const one of all) {
    const held = rows.find(({ id }) => id === one.id)
    if (held === undefined || !isTimeToAsk(one, now())) continue
    const ask = () =>
      renewalWindow(held.certificate, {
        directoryUrl: directoryOf(settings.directory),
        roots: settings.roots ?? undefined,
        lookup: checkedLookup(addressBlocker),
        now,
        signal: AbortSignal.any([signal, AbortSignal.timeout(20_000)]),
      })
    // One that does not answer is not asked for each of them.
    const found = isDown
      ? null
      : await ask().catch(() => {
          isDown = true
          return null
        })
    if (signal.aborted) return
    const window = found?.window ?? null
    const lifetime = { notBefore: new Date(held.notBefore), notAfter: new Date(held.notAfter) }
    const hadWindow = one.row.renewal?.certificate === held.id && one.row.renewal.start !== null
    const nextRenewal = renewalTime(lifetime, window, one.row.chance).toISOString()
    await store.transaction(async (tx) => {
      await tx.acme.put({
        ...one.row,
        renewal: {
          certificate: held.id,
          replaces: found?.id ?? null,
          start: window?.start.toISOString() ?? null,
          end: window?.end.toISOString() ?? null,
          askAgainAt: nextWindowQuestion(window, now()).toISOString(),
        },
      })
      // Without a window of the authority the usual time stands already; and a person may have asked for it meanwhile.
      const current = await store.certificates.find(held.id)
      const isAsOfNow = current !== null && current.nextRenewal === held.nextRenewal
      if (isAsOfNow && (window !== null || hadWindow))
        await tx.certificates.fail(held.id, held.lastFailure, nextRenewal)
    })
  }
}

function isTimeToAsk({ id, row: { renewal } }: WantedCertificate, now: Date): boolean {
  return renewal === null || renewal.certificate !== id || Date.parse(renewal.askAgainAt) <= now.getTime()
}
