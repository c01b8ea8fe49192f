import { randomBytes } from 'node:crypto'
import type { AgeKey, Sealer } from './age/sealer.ts'
import { putChecked } from './put-checked.ts'
import { type Target, TargetError } from './target.ts'

/** The identity of the target, encrypted by the passphrase: all that a new instance needs beside that. */
export const keyFileName = 'stackquay-key.age'

const mostKeyFileBytes = 4096
const identityPattern = /^AGE-SECRET-KEY-1[0-9A-Z]{58}$/

/** The key of a target as an instance keeps it: sealed. */
export interface TargetKey extends AgeKey {
  /** The key file as it lies on the target, base64. */
  readonly keyFile: string
}

/**
 * Opens the key of a target with the passphrase, or makes one where there is none: then `recoveryPassphrase` is the one that was
 * generated for it, null when it was given.
 */
export async function setUpKey(
  target: Target,
  sealer: Sealer,
  passphrase: string | null,
  signal: AbortSignal,
): Promise<{ readonly key: TargetKey; readonly recoveryPassphrase: string | null; readonly isNew: boolean }> {
  const there = await target.get(keyFileName, mostKeyFileBytes, signal)
  if (there !== null) {
    if (passphrase === null)
      throw new TargetError('locked', 'There are backups on the target already: its passphrase is needed.')
    const opened = await sealer.decryptWithPassphrase(Buffer.from(there), passphrase)
    const identity = opened.toString().trim()
    if (!identityPattern.test(identity)) throw new TargetError('damaged', 'The key file of the target holds no key.')
    const key = { ...(await sealer.keyOf(identity)), keyFile: there.toString('base64') }
    return { key, recoveryPassphrase: null, isNew: false }
  }
  const chosen = passphrase ?? newPassphrase()
  const made = await sealer.newKey()
  const file = await sealer.encryptWithPassphrase(Buffer.from(`${made.identity}\n`), chosen)
  await putChecked(target, keyFileName, file, signal)
  const recoveryPassphrase = passphrase === null ? chosen : null
  return { key: { ...made, keyFile: file.toString('base64') }, recoveryPassphrase, isNew: true }
}

/** Throws `key_changed` where the key file is not the one that this instance knows: what is written then could not be opened later. */
export async function requireKey(target: Target, { keyFile }: TargetKey, signal: AbortSignal): Promise<void> {
  const there = await target.get(keyFileName, mostKeyFileBytes, signal)
  if (there?.toString('base64') === keyFile) return
  throw new TargetError(
    'key_changed',
    there === null
      ? `The target has no key file (${keyFileName}) any more. Is it the right place, and is the disk mounted?`
      : `The key file of the target (${keyFileName}) is another one.`,
  )
}

/** Puts the key file back where it is gone, never over another one. */
export async function restoreKey(target: Target, { keyFile }: TargetKey, signal: AbortSignal): Promise<void> {
  if ((await target.stat(keyFileName, signal)) !== null) return
  await putChecked(target, keyFileName, Buffer.from(keyFile, 'base64'), signal)
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** 160 bits, in groups that can be read out. */
function newPassphrase(): string {
  const letters = [...randomBytes(32)].map((byte) => alphabet[byte & 31])
  return letters.join('').replace(/.{4}(?=.)/g, '$&-')
}
