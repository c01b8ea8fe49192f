import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto'

/** ECDSA on P-256: every certificate authority takes it. PEM, to be sealed by whoever keeps it. */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

export interface PublicJwk {
  readonly crv: string
  readonly kty: string
  readonly x: string
  readonly y: string
}

export interface Signer {
  readonly jwk: PublicJwk
  /** RFC 7638. */
  readonly thumbprint: string
  sign(header: object, payload: string): string
}

export function signerOf(pem: string): Signer {
  const key = createPrivateKey(pem)
  const jwk = publicJwk(key)
  // The members in this order, without spaces: that is what is hashed.
  const thumbprint = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url')
  return {
    jwk,
    thumbprint,
    sign: (header, payload) => {
      const protectedPart = base64url(JSON.stringify({ alg: 'ES256', ...header }))
      const payloadPart = base64url(payload)
      const signature = sign('sha256', Buffer.from(`${protectedPart}.${payloadPart}`), {
        key,
        dsaEncoding: 'ieee-p1363',
      })
      return JSON.stringify({
        protected: protectedPart,
        payload: payloadPart,
        signature: signature.toString('base64url'),
      })
    },
  }
}

function publicJwk(key: KeyObject): PublicJwk {
  const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' })
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined)
    throw new Error('The key of an ACME account must be ECDSA on P-256.')
  return { crv, kty, x, y }
}

export interface ExternalAccount {
  readonly keyId: string
  /** As certificate authorities show it: base64url. */
  readonly hmacKey: string
}

/** RFC 8555, 7.3.4: the new account's key, signed with the secret that the certificate authority gave. */
export function bindExternalAccount(external: ExternalAccount, jwk: PublicJwk, url: string): object {
  const protectedPart = base64url(JSON.stringify({ alg: 'HS256', kid: external.keyId, url }))
  const payload = base64url(JSON.stringify(jwk))
  const signature = createHmac('sha256', Buffer.from(external.hmacKey, 'base64url'))
    .update(`${protectedPart}.${payload}`)
    .digest('base64url')
  return { protected: protectedPart, payload, signature }
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}
