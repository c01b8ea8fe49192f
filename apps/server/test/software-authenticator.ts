import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** An authenticator in software, as FIDO2 has it: ES256, attestation `none`, a counter. For one passkey. */
export interface SoftwareAuthenticator {
  create(options: MakingOptions, at?: At): Record<string, unknown>
  get(options: SigningOptions, at?: At): Record<string, unknown>
  counter: number
}

/** What of the service's options it looks at. */
interface MakingOptions {
  readonly challenge: string
  readonly rp: { readonly id: string }
  readonly user: { readonly id: string }
}
interface SigningOptions {
  readonly challenge: string
  readonly rpId: string
}

interface At {
  readonly origin?: string
  readonly rpId?: string
  readonly verified?: boolean
  /** Text in place of the attestation format. */
  readonly format?: string
}

export const pageOrigin = 'http://localhost:8700'

export function softwareAuthenticator(): SoftwareAuthenticator {
  const id = randomBytes(32)
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  let userHandle = ''
  const self: SoftwareAuthenticator = {
    counter: 0,
    create(options, { origin = pageOrigin, rpId = options.rp.id, verified = true, format = 'none' } = {}) {
      userHandle = options.user.id
      const clientData = clientDataOf('webauthn.create', options.challenge, origin)
      const key = coseOf(publicKey)
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, key])
      const statement = format === 'none' ? new Map() : new Map([['x5c', [Buffer.from('certificate')]]])
      const attestation = new Map<string, unknown>([
        ['fmt', format],
        ['attStmt', statement],
        ['authData', Buffer.concat([authenticatorData(rpId, 0x40, verified, self.counter), attested])],
      ])
      return {
        ...{ id: id.toString('base64url'), rawId: id.toString('base64url'), type: 'public-key' },
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientData.toString('base64url'),
          attestationObject: cbor(attestation).toString('base64url'),
          transports: ['internal'],
        },
      }
    },
    get(options, { origin = pageOrigin, rpId = options.rpId, verified = true } = {}) {
      self.counter += 1
      const clientData = clientDataOf('webauthn.get', options.challenge, origin)
      const data = authenticatorData(rpId, 0, verified, self.counter)
      return {
        ...{ id: id.toString('base64url'), rawId: id.toString('base64url'), type: 'public-key' },
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientData.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signature(privateKey, data, clientData),
          userHandle,
        },
      }
    },
  }
  return self
}

function clientDataOf(type: string, challenge: string, origin: string): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
}

function authenticatorData(rpId: string, flags: number, verified: boolean, counter: number): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(flags | 0x01 | (verified ? 0x04 : 0))
  head.writeUInt32BE(counter, 1)
  return Buffer.concat([createHash('sha256').update(rpId).digest(), head])
}

function signature(key: KeyObject, data: Buffer, clientData: Buffer): string {
  const hash = createHash('sha256').update(clientData).digest()
  return sign('sha256', Buffer.concat([data, hash]), key).toString('base64url')
}

function coseOf(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const bytes = (text: string) => Buffer.from(text, 'base64url')
  return cbor(
    new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(x)],
      [-3, bytes(y)],
    ]),
  )
}

/** As much of RFC 8949 as the above needs. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)])
  if (value instanceof Map) return Buffer.concat([head(5, value.size), ...[...value].flat().map(cbor)])
  throw new TypeError('No CBOR for this.')
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length])
  if (length < 256) return Buffer.from([(major << 5) | 24, length])
  return Buffer.from([(major << 5) | 25, length >> 8, length & 255])
}
