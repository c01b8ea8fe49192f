import { createReadStream, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ArchiveError, type InstanceArchives, type InstanceManifest } from '@stackquay/archive'
import { byTheService } from '@stackquay/store'
import type { Config } from '../config.ts'
import { BootError } from '../home.ts'
import { givenKey } from '../sealing-key.ts'
import { acceptManifest, readerOfKey } from './accept-manifest.ts'
import { prepareRestored } from './prepare-restored.ts'
import { stageState, takeStagedState } from './restore-folder.ts'

export interface RestoreFirst {
  readonly config: Pick<Config, 'home' | 'restore' | 'secretKey'>
  readonly archives: InstanceArchives
  readonly now: () => Date
  say(text: string): void
}

/**
 * Before anything of the home is opened: restores the archive that STACKQUAY_RESTORE names into a home without a database, or ends what a
 * start did not that was killed meanwhile. Everything is checked before; then it is there whole, or nothing is.
 */
export async function restoreFirst({
  config: { home, restore, secretKey },
  archives,
  now,
  say,
}: RestoreFirst): Promise<void> {
  if (await takeStagedState(home)) return
  if (restore === null) return
  if (hasDatabase(home))
    throw new BootError(
      `STACKQUAY_RESTORE names ${restore}, but ${home} has a database already. Unset STACKQUAY_RESTORE to start with that, or set STACKQUAY_HOME to an empty folder.`,
    )
  const key = givenKey(home, secretKey)
  const accept = (manifest: InstanceManifest) => {
    if (key !== null) return acceptManifest(manifest, readerOfKey(key))
    throw new BootError(
      `${restore} is sealed with the secret key ${manifest.keyId}. Set STACKQUAY_SECRET_KEY to it, or put it into ${join(home, 'secret.key')}.`,
    )
  }
  try {
    const { id } = await received(restore, archives, accept)
    const staged = await stageState(home)
    const manifest = await archives.extract(id, staged.database)
    accept(manifest)
    await prepareRestored(staged, manifest, { key: key!, now, entry: byTheService })
    await staged.commit()
    await takeStagedState(home)
    say(`The instance was restored from ${restore}, made at ${manifest.createdAt}. Unset STACKQUAY_RESTORE.`)
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error
    throw new BootError(`${restore} cannot be restored. ${error.message}`)
  }
}

/** Also one of which all is still in its log of writes. */
function hasDatabase(home: string): boolean {
  const files = ['stackquay.db', 'stackquay.db-wal'].map((name) => join(home, name))
  return files.some((file) => existsSync(file) && statSync(file).size > 0)
}

/** It is kept among the backups of the instance; an attempt before this one may have put it there. */
async function received(
  path: string,
  archives: InstanceArchives,
  accept: (manifest: InstanceManifest) => void,
): Promise<InstanceManifest> {
  let named: InstanceManifest | null = null
  const remember = (manifest: InstanceManifest) => {
    accept(manifest)
    named = manifest
  }
  try {
    return await archives.upload(bytesOf(path), { signal: new AbortController().signal, accept: remember })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (named !== null && error instanceof ArchiveError && error.code === 'exists') return named
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
      throw new BootError(`STACKQUAY_RESTORE names ${path}, which cannot be read: ${message}.`)
    throw error
  }
}

/** Opened when it is read, and not before somebody hears of its errors. */
async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path)
}
