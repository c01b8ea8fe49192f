import { X509Certificate } from 'node:crypto'
import { z } from 'zod'
import type { RenewalWindow } from '../rules/renewal.ts'
import { jsonOf } from './problems.ts'
import { retryAfter } from './retry-after.ts'
import { header, type Session } from './session.ts'

const RenewalInfo = z.object({
  suggestedWindow: z.object({ start: z.iso.datetime({ offset: true }), end: z.iso.datetime({ offset: true }) }),
})

/** RFC 9773: when the certificate authority wants this certificate renewed. Null where it does not say. */
export async function askRenewalWindow(session: Session, id: string, now: Date): Promise<RenewalWindow | null> {
  const { renewalInfo } = session.directory
  if (renewalInfo === undefined) return null
  const answer = await session.get(`${renewalInfo.replace(/\/$/, '')}/${id}`)
  const parsed = RenewalInfo.safeParse(answer.status === 200 ? jsonOf(answer.body) : null)
  if (!parsed.success) return null
  const { start, end } = parsed.data.suggestedWindow
  const askAgainAt = retryAfter(header(answer, 'retry-after'), now)
  return { start: new Date(start), end: new Date(end), askAgainAt }
}

/** RFC 9773, 4.1: the key identifier of the issuer and the serial number. Null for a certificate without one. */
export function renewalId(certificate: string): string | null {
  const { serialNumber, raw } = new X509Certificate(certificate)
  const keyId = authorityKeyId(raw)
  if (keyId === null) return null
  const hex = serialNumber.length % 2 === 0 ? serialNumber : `0${serialNumber}`
  const bytes = Buffer.from(hex, 'hex')
  // As in the certificate: a number whose first bit is set has a zero before it.
  const serial = bytes.length > 0 && bytes[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes
  return `${keyId.toString('base64url')}.${serial.toString('base64url')}`
}

/** Extension 2.5.29.35, which Node does not show: OID, perhaps `critical`, an octet string with a sequence whose [0] is the key's. */
function authorityKeyId(der: Buffer): Buffer | null {
  const at = der.indexOf(Buffer.from('0603551d23', 'hex'))
  if (at < 0) return null
  const value = der.subarray(at + 5, at + 5 + 64)
  const start = value[0] === 0x01 ? 3 : 0
  if (value[start] !== 0x04 || value[start + 2] !== 0x30 || value[start + 4] !== 0x80) return null
  const length = value[start + 5] ?? 0
  return length > 0 && start + 6 + length <= value.length
    ? Buffer.from(value.subarray(start + 6, start + 6 + length))
    : null
}
