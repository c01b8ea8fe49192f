import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { InstanceArchives, InstanceManifest } from '@stackquay/archive'
import { ProblemError } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import { version } from '../version.ts'
import { requireRoom } from './free-room.ts'

/** What a signature of a backup of the instance is made for: nothing else that the key signs is one. */
export const signaturePurpose = 'instance backup'

/** Backups of the instance itself: where they are kept, and how one is made. */
export interface OwnBackups {
  readonly archives: InstanceArchives
  isMaking(): boolean
  /** One at a time: waits for the one that is being made. */
  make(backup: NewOwnBackup, signal: AbortSignal): Promise<InstanceManifest>
}

export type NewOwnBackup = Pick<InstanceManifest, 'id' | 'createdAt' | 'note' | 'source'>

export function openOwnBackups(archives: InstanceArchives, home: string, store: Store): OwnBackups {
  let making: Promise<unknown> | null = null
  const create = async (backup: NewOwnBackup, signal: AbortSignal) => {
    signal.throwIfAborted()
    await requireRoomForCopy(home)
    return archives.create({
      ...backup,
      stackquayVersion: version,
      copyTo: (file) => store.copyTo(file, signal),
      sign: signWith(store),
      signal,
    })
  }
  return {
    archives,
    isMaking: () => making !== null,
    make: async (backup, signal) => {
      while (making !== null) await making
      const made = create(backup, signal)
      making = made.catch(() => undefined)
      try {
        return await made
      } finally {
        making = null
      }
    },
  }
}

/** A key that was replaced between the copy and its signature would sign what it does not open. */
export function signWith({ sealing }: Pick<Store, 'sealing'>): (text: string, keyId: string) => string {
  return (text, keyId) => {
    const signature = sealing.sign(text, signaturePurpose)
    if (signature.keyId === keyId) return signature.mac
    throw new ProblemError('busy', 'The secret key was replaced meanwhile. Try again.')
  }
}

/** The copy and, at most as large, what it is compressed to. */
export async function requireRoomForCopy(home: string): Promise<void> {
  const { size } = await stat(join(home, 'stackquay.db'))
  await requireRoom(home, 2 * size, 'The backup')
}
