import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Attempt } from './protocol/messages.ts'
import { fieldsOf } from './public-key.ts'

export type OfferedKey = Extract<Attempt['by'], { kind: 'key' }>

/** As RFC 4252 has it: what is signed names the connection, the user and the key, so a proof for one is none for another. */
const authenticationRequest = 50

/**
 * Whether somebody has the private half of a key. It is looked at here, and not where SSH is spoken: that process is believed in nothing that
 * opens a project.
 */
export function isProof({ algorithm, key, proof, hash }: OfferedKey, publicKey: string, user: string): boolean {
  const blob = Buffer.from(publicKey.split(' ')[1] ?? '', 'base64')
  if (proof === null || !blob.equals(Buffer.from(key, 'base64'))) return false
  const signed = Buffer.from(proof.signed, 'base64')
  if (!names(signed, user, blob)) return false
  try {
    return hasSigned(blob, signed, Buffer.from(proof.signature, 'base64'), { algorithm, hash })
  } catch {
    return false
  }
}

/** session, request, user, service, method, true, algorithm, key. */
function names(signed: Buffer, user: string, blob: Buffer): boolean {
  if (signed.length < 5) return false
  const request = 4 + signed.readUInt32BE(0)
  if (signed[request] !== authenticationRequest) return false
  const [name, service, method] = fieldsOf(signed.subarray(request + 1))
  if (name === undefined || service === undefined || method === undefined) return false
  if (!name.equals(Buffer.from(user)) || String(service) !== 'ssh-connection' || String(method) !== 'publickey')
    return false
  const rest = signed.subarray(request + 1 + 12 + name.length + service.length + method.length)
  const [, named] = fieldsOf(rest.subarray(1))
  return rest[0] === 1 && named?.equals(blob) === true
}

function hasSigned(
  blob: Buffer,
  signed: Buffer,
  signature: Buffer,
  { algorithm, hash }: Pick<OfferedKey, 'algorithm' | 'hash'>,
): boolean {
  const [kind, first, second] = fieldsOf(blob)
  if (first === undefined) return false
  const type = String(kind)
  if (type === 'ssh-ed25519') return verify(null, signed, jwk({ kty: 'OKP', crv: 'Ed25519', x: url(first) }), signature)
  if (second === undefined) return false
  if (type === 'ssh-rsa') {
    if (algorithm === 'ssh-rsa' && hash === null) return false
    return verify(hash, signed, jwk({ kty: 'RSA', e: url(first), n: url(withoutSign(second)) }), signature)
  }
  const curve = curves[String(first)]
  if (curve === undefined) return false
  const half = (second.length - 1) / 2
  const [x, y] = [second.subarray(1, 1 + half), second.subarray(1 + half)]
  const known = jwk({ kty: 'EC', crv: curve.name, x: url(x), y: url(y) })
  return verify(curve.hash, signed, known, signature)
}

const curves: Readonly<Record<string, { readonly name: string; readonly hash: string }>> = {
  nistp256: { name: 'P-256', hash: 'sha256' },
  nistp384: { name: 'P-384', hash: 'sha384' },
  nistp521: { name: 'P-521', hash: 'sha512' },
}

function jwk(key: object): KeyObject {
  return createPublicKey({ key: key as never, format: 'jwk' })
}

const url = (bytes: Buffer) => bytes.toString('base64url')
const withoutSign = (bytes: Buffer) => (bytes[0] === 0 ? bytes.subarray(1) : bytes)
