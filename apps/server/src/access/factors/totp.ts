import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** Time-based one-time passwords (RFC 6238) as every authenticator app makes them: SHA-1, six digits, 30 seconds. */
const stepSeconds = 30
const digits = 6
/** Clocks differ, and people type: the code before and the one after are right too. */
const window = 1

/** 160 bits, as RFC 4226 recommends, in base32. */
export function newTotpSecret(): string {
  return base32(randomBytes(20))
}

export function stepAt(ms: number): number {
  return Math.floor(ms / 1000 / stepSeconds)
}

export function codeAt(secret: Buffer, step: number, length: number = digits): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = mac[mac.length - 1]! & 0xf
  const number = (mac.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** length
  return String(number).padStart(length, '0')
}

/**
 * The step that the code is of; null when it is none of now. Compares with all of them, so that the time does not tell
 * which was near.
 */
export function matchingStep(secret: string, given: string, ms: number): number | null {
  const code = given.replace(/\s/g, '')
  if (!/^\d{6}$/.test(code)) return null
  const key = fromBase32(secret)
  const now = stepAt(ms)
  let found: number | null = null
  for (let step = now - window; step <= now + window; step++) {
    if (timingSafeEqual(Buffer.from(codeAt(key, step)), Buffer.from(code))) found = step
  }
  return found
}

/** What apps read from a QR code, without what they take for granted: fewer dots are easier to read. `issuer` tells this instance from others in their lists. */
export function totpUri({ secret, account, ...given }: { secret: string; issuer: string; account: string }): string {
  // A colon ends the issuer, also an encoded one.
  const issuer = given.issuer.replaceAll(':', ' ')
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`
  const query = new URLSearchParams({ secret, issuer })
  return `otpauth://totp/${label}?${query.toString().replaceAll('+', '%20')}`
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648, without padding. */
export function base32(bytes: Uint8Array): string {
  let text = ''
  let held = 0
  let bits = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += alphabet[(held >> bits) & 31]
    }
    held &= (1 << bits) - 1
  }
  return bits === 0 ? text : text + alphabet[(held << (5 - bits)) & 31]
}

export function fromBase32(text: string): Buffer {
  const bytes: number[] = []
  let held = 0
  let bits = 0
  for (const letter of text) {
    const value = alphabet.indexOf(letter)
    if (value === -1) throw new RangeError('This is no base32.')
    held = (held << 5) | value
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push((held >> bits) & 255)
    held &= (1 << bits) - 1
  }
  return Buffer.from(bytes)
}
