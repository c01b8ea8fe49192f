import type { BackupCopy } from '@stackquay/contract'
import type { BackupCopyRow, Store } from '@stackquay/store'

/** Where copies of backups lie, as this instance knows: for the views of backups, which are made without a question to the store. */
export interface KnownCopies {
  of(backup: string): readonly BackupCopyRow[]
  on(target: string): readonly BackupCopyRow[]
  put(row: BackupCopyRow): void
  forget(target: string, backup: string): void
  /** Of a target that is no more, or of a backup that is not here any more. */
  forgetTarget(target: string): void
  forgetBackup(backup: string): void
  /** Names of targets. */
  nameOf(target: string): string
  named(target: string, name: string): void
}

export async function openKnownCopies(store: Store): Promise<KnownCopies> {
  let rows = [...(await store.backupTargets.copies())]
  const names = new Map((await store.backupTargets.all()).map(({ id, name }) => [id, name]))
  const forget: KnownCopies['forget'] = (target, backup) => {
    rows = rows.filter((row) => row.target !== target || row.backup !== backup)
  }
  return {
    of: (backup) => rows.filter((row) => row.backup === backup),
    on: (target) => rows.filter((row) => row.target === target),
    put: (row) => {
      forget(row.target, row.backup)
      rows.push(row)
    },
    forget,
    forgetTarget: (target) => {
      rows = rows.filter((row) => row.target !== target)
      names.delete(target)
    },
    forgetBackup: (backup) => {
      rows = rows.filter((row) => row.backup !== backup)
    },
    nameOf: (target) => names.get(target) ?? target,
    named: (target, name) => void names.set(target, name),
  }
}

export function copiesView(backup: string, copies: Pick<KnownCopies, 'of' | 'nameOf'>): BackupCopy[] {
  return copies.of(backup).map(({ target, state, at }) => ({ target, name: copies.nameOf(target), state, at }))
}
