import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'

/** A new ed25519 key: the seed of its private half, base64. */
export function newDeployKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  return privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32).toString('base64')
}

/** As in `authorized_keys`, and as ssh-keygen prints it. */
export function publicHalf(
  seed: string,
  comment: string,
): { readonly publicKey: string; readonly fingerprint: string } {
  const blob = publicBlob(publicBytes(seed))
  const digest = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')
  return { publicKey: `ssh-ed25519 ${blob.toString('base64')} ${comment}`, fingerprint: `SHA256:${digest}` }
}

/** The private key as OpenSSH keeps it (PROTOCOL.key): the one form of ed25519 that all its versions read. */
export function openSshKey(seed: string, comment: string): string {
  const publicKey = publicBytes(seed)
  const check = randomBytes(4)
  const secret = Buffer.concat([
    check,
    check,
    text('ssh-ed25519'),
    text(publicKey),
    text(Buffer.concat([Buffer.from(seed, 'base64'), publicKey])),
    text(comment),
  ])
  const padding = Buffer.from(Array.from({ length: (8 - (secret.length % 8)) % 8 }, (_, at) => at + 1))
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    text('none'),
    text('none'),
    text(''),
    number(1),
    text(publicBlob(publicKey)),
    text(Buffer.concat([secret, padding])),
  ]).toString('base64')
  const lines = body.match(/.{1,70}/g)!.join('\n')
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines}\n-----END OPENSSH PRIVATE KEY-----\n`
}

/** Of an ed25519 key in PKCS #8 what comes before the seed. */
const prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

function publicBytes(seed: string): Buffer {
  const key = Buffer.concat([prefix, Buffer.from(seed, 'base64')])
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  return createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32)
}

const publicBlob = (publicKey: Buffer) => Buffer.concat([text('ssh-ed25519'), text(publicKey)])

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([number(bytes.length), bytes])
}
