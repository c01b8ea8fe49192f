import { ProblemError } from '@stackquay/contract'
import { fingerprintOf } from './host-key.ts'

/** A public key that a person pasted, as it is kept. */
export interface PublicKey {
  readonly type: string
  readonly publicKey: string
  readonly fingerprint: string
  readonly comment: string
}

/** Types that log-ins are possible with; of RSA those that cannot be computed by anybody. */
const types = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521', 'ssh-rsa'] as const
const leastRsaBits = 2048

/** Reads one line of `authorized_keys` without options. Throws `validation_failed`. */
export async function readPublicKey(text: string): Promise<PublicKey> {
  const line = text.trim()
  if (line.includes('PRIVATE KEY'))
    throw refused(
      'This is a private key. Keep it to yourself, and make another one: it was sent.',
      'Paste the file that ends with ".pub".',
    )
  if (/[\r\n]/.test(line)) throw refused('This is more than one line.', 'Add one key at a time.')
  const [type = '', encoded = '', ...rest] = line.split(/[ \t]+/)
  if (!(types as readonly string[]).includes(type))
    throw refused(unknownType(type), `Possible are ${types.join(', ')}: ssh-keygen -t ed25519 makes one.`)
  const blob = Buffer.from(encoded, 'base64')
  const mistyped = () =>
    refused('The key is damaged: a part of it is missing or was changed.', 'Copy the whole line again.')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || typeIn(blob) !== type) throw mistyped()
  const { default: ssh2 } = await import('ssh2')
  const parsed = ssh2.utils.parseKey(`${type} ${encoded}`)
  if (parsed instanceof Error || parsed.isPrivateKey()) throw mistyped()
  if (!parsed.getPublicSSH().equals(blob)) throw mistyped()
  if (type === 'ssh-rsa' && bitsOfRsa(blob) < leastRsaBits)
    throw refused(
      `The key has ${bitsOfRsa(blob)} bits, which is too short.`,
      'ssh-keygen -t ed25519 makes a better one.',
    )
  return {
    type,
    publicKey: `${type} ${blob.toString('base64')}`,
    fingerprint: fingerprintOf(blob),
    comment: rest.join(' '),
  }
}

function unknownType(type: string): string {
  if (type.startsWith('sk-')) return 'Keys of security keys are not possible here yet.'
  if (type === 'ssh-dss') return 'Keys of type DSA are broken.'
  return 'This is no public key of SSH.'
}

/** The first field of a key, read without trusting its length. */
function typeIn(blob: Buffer): string | null {
  return fieldsOf(blob)[0]?.toString('latin1') ?? null
}

/** An RSA key is its type, the exponent and the modulus. */
function bitsOfRsa(blob: Buffer): number {
  const modulus = fieldsOf(blob)[2] ?? Buffer.alloc(0)
  return modulus.length === 0 ? 0 : BigInt(`0x${modulus.toString('hex')}`).toString(2).length
}

export function fieldsOf(blob: Buffer): readonly Buffer[] {
  const fields: Buffer[] = []
  for (let at = 0; at + 4 <= blob.length; ) {
    const length = blob.readUInt32BE(at)
    if (at + 4 + length > blob.length) return fields
    fields.push(blob.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  return fields
}

function refused(detail: string, hint: string): ProblemError {
  return new ProblemError('validation_failed', `"publicKey": ${detail}`, {
    hint,
    errors: [{ pointer: '/publicKey', code: 'invalid', detail }],
  })
}
