import type { DiagnosticCheck } from '@stackquay/contract'
import type { CertificateKeeper } from '../certificates/keeper.ts'

/** Whether hosts have certificates that are valid, and will be. */
export function certificatesCheck({
  troubles,
  fault,
  unreadable,
}: Pick<CertificateKeeper, 'troubles' | 'fault' | 'unreadable'>): DiagnosticCheck {
  const about = { id: 'certificates', category: 'network', title: 'Certificates', fix: null } as const
  const [found, why] = [troubles(), fault()]
  const lost = unreadable().size
  if (lost > 0) {
    const detail = `The keys of ${lost === 1 ? '1 certificate' : `${lost} certificates`} cannot be read with this secret key.`
    return { ...about, status: 'error', detail, hint: 'Add them again, or give the service its former secret key.' }
  }
  if (why !== null) {
    const hint = 'It is tried again by itself. See the log of the service, and STACKQUAY_PROXY_HTTPS.'
    return { ...about, status: 'warning', detail: why, hint }
  }
  if (found.length > 0) {
    const words = {
      expired: 'has ended',
      expiring: 'ends soon',
      failing: 'is not renewed',
      missing: 'could not be obtained',
    }
    const texts = found.slice(0, 5).map(({ hosts, kind }) => `that of ${hosts[0]} ${words[kind]}`)
    const more = found.length > 5 ? ` and ${found.length - 5} more` : ''
    const status = found.some(({ kind }) => kind === 'expired') ? 'error' : 'warning'
    const hint = 'Add a newer one in Settings → Certificates, or with stq tls add.'
    return { ...about, status, detail: `Of the certificates ${texts.join(', ')}${more}.`, hint }
  }
  return { ...about, status: 'ok', detail: 'None has ended, and none ends soon.', hint: null }
}
