import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** `key` has 32 bytes. `id` names it without telling it; it is stored beside everything sealed with the key. */
export interface SealingKey {
  readonly id: string
  readonly key: Buffer
}

/**
 * AES-256-GCM with a random nonce of 96 bits: nonce, tag and ciphertext in base64url. `about` is bound to it, so that a
 * sealed text cannot be moved to another place and still open.
 */
export function seal(key: SealingKey, text: string, about: readonly unknown[]): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key.key, nonce).setAAD(Buffer.from(JSON.stringify(about)))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Null when the key is another one, `about` differs, or a single bit was changed. */
export function unseal(key: SealingKey, sealed: string, about: readonly unknown[]): string | null {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length < 28) return null
  const decipher = createDecipheriv('aes-256-gcm', key.key, bytes.subarray(0, 12), { authTagLength: 16 })
    .setAAD(Buffer.from(JSON.stringify(about)))
    .setAuthTag(bytes.subarray(12, 28))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
  } catch {
    return null
  }
}

/** A keyed checksum: only who has the key can make one. */
export function sign(key: SealingKey, purpose: string, text: string): string {
  return createHmac('sha256', derivedKey(key, purpose)).update(text).digest('hex')
}

/** Derived once for each key and purpose: every change signs the head of the audit log. */
function derivedKey(key: SealingKey, purpose: string): Buffer {
  const known = derivedKeys.get(key.key) ?? new Map<string, Buffer>()
  derivedKeys.set(key.key, known)
  let derived = known.get(purpose)
  if (derived === undefined) {
    derived = Buffer.from(hkdfSync('sha256', key.key, '', `stackquay ${purpose}`, 32))
    known.set(purpose, derived)
  }
  return derived
}

/** By the bytes of the key, which are forgotten with it. */
const derivedKeys = new WeakMap<Buffer, Map<string, Buffer>>()

export function isSigned(key: SealingKey, purpose: string, text: string, signature: string): boolean {
  const expected = Buffer.from(sign(key, purpose, text))
  const actual = Buffer.from(signature)
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}
