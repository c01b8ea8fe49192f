import { join } from 'node:path'
import { type ArchiveFolder, type InstanceArchives, openArchiveFolder } from '@stackquay/archive'
import type { Store } from '@stackquay/store'
import type { AddonsKeeper } from '../addons/keeper.ts'
import { type BackupKeys, openBackupKeys } from './backup-keys.ts'
import { sweepDrillFolders } from './drill-folder.ts'
import { type KnownBackups, openKnownBackups } from './known-backups.ts'
import { type KnownCopies, openKnownCopies } from './known-copies.ts'
import { type OwnBackups, openOwnBackups } from './own-backups.ts'

/** All that is kept of backups: the folder that holds them, what is known of them, and the keys that open their settings. */
export interface Backups {
  readonly folder: ArchiveFolder
  readonly known: KnownBackups
  readonly keys: BackupKeys
  readonly copies: KnownCopies
  /** Of the instance itself. */
  readonly own: OwnBackups
  /** The addons of the instance: those of a backup are never more than these. */
  readonly addons: AddonsKeeper['now']
}

export interface BackupsOptions {
  readonly home: string
  readonly store: Store
  readonly instanceArchives: InstanceArchives
  readonly addons: AddonsKeeper['now']
  onError(error: unknown, what: string): void
}

/**
 * They lie in a folder of their own, so that they outlive their projects. The folder is the truth: it is read once, here. What killed
 * attempts left in it goes.
 */
export async function openBackups({
  home,
  store,
  instanceArchives,
  addons,
  onError,
}: BackupsOptions): Promise<Backups> {
  const folder = openArchiveFolder(join(home, 'backups'))
  await folder.sweep()
  await instanceArchives.sweep()
  const sweep = await sweepDrillFolders(home)
  void sweep().catch((error: unknown) => onError(error, 'removing what restore drills left'))
  const known = await openKnownBackups(folder, store, onError)
  const keys = await openBackupKeys({ folder, known, store, onError })
  const copies = await openKnownCopies(store)
  return { folder, known, keys, copies, own: openOwnBackups(instanceArchives, home, store), addons }
}
