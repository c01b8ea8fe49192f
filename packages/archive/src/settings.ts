import { ArchiveError } from './error.ts'

/** The key of a backup: the age identity (`AGE-SECRET-KEY-1…`) that opens, and the recipient (`age1…`) that it is sealed for. */
export interface ArchiveKey {
  readonly identity: string
  readonly recipient: string
}

/** Loaded when it is needed: a start of the service would wait a tenth of a second for it. */
const age = () => import('age-encryption')

export async function newIdentity(): Promise<ArchiveKey> {
  const { generateX25519Identity, identityToRecipient } = await age()
  const identity = await generateX25519Identity()
  return { identity, recipient: await identityToRecipient(identity) }
}

/** The value as JSON, encrypted as age does it, for each of the recipients. */
export async function sealSettings(value: unknown, recipients: readonly string[]): Promise<Buffer> {
  if (recipients.length === 0) throw new Error('Settings are sealed for at least one recipient.')
  const { Encrypter } = await age()
  const encrypter = new Encrypter()
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  return Buffer.from(await encrypter.encrypt(JSON.stringify(value)))
}

/**
 * `locked` when the identity does not open it, `damaged` when it is not whole. To age a damaged header is one for another key: who
 * must tell these apart compares the checksum first, as `openStored` does.
 */
export async function openSettings(sealed: Uint8Array, identity: string): Promise<unknown> {
  const { Decrypter } = await age()
  const decrypter = new Decrypter()
  decrypter.addIdentity(identity)
  try {
    return JSON.parse(await decrypter.decrypt(sealed, 'text'))
  } catch (error) {
    if (/no identity matched/.test((error as Error).message))
      throw new ArchiveError('locked', 'settings', 'This key does not open them.', { cause: error })
    throw new ArchiveError('damaged', 'settings', 'They cannot be decrypted.', { cause: error })
  }
}
