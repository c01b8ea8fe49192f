import type { PasskeyCredential, PasskeyOptions } from '@stackquay/contract'

/** Why this browser can do nothing with passkeys at this address; null when it can. */
export function passkeysHere({
  hostname = location.hostname,
  secure = globalThis.isSecureContext,
  known = typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === 'function',
} = {}): 'address' | 'insecure' | 'browser' | null {
  if (/^[\d.]+$/.test(hostname) || hostname.startsWith('[')) return 'address'
  if (!secure) return 'insecure'
  return known ? null : 'browser'
}

/** Nobody chose one: the person closed the browser's dialog, or none fits. It does not tell which. */
export class NoPasskeyError extends Error {
  override readonly name = 'NoPasskeyError'
}

export async function makePasskey(options: PasskeyOptions): Promise<PasskeyCredential> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never)
  return jsonOf(await navigator.credentials.create({ publicKey }).catch(chosen))
}

export async function askPasskey(options: PasskeyOptions): Promise<PasskeyCredential> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as never)
  return jsonOf(await navigator.credentials.get({ publicKey }).catch(chosen))
}

function chosen(error: unknown): never {
  const name = error instanceof DOMException ? error.name : ''
  if (name === 'NotAllowedError' || name === 'AbortError' || name === 'InvalidStateError') {
    throw new NoPasskeyError(name, { cause: error })
  }
  throw error
}

function jsonOf(credential: Credential | null): PasskeyCredential {
  if (!(credential instanceof PublicKeyCredential)) throw new NoPasskeyError('none')
  return credential.toJSON() as unknown as PasskeyCredential
}
