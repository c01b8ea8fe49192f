import type { Reading, Writing } from './context.ts'
import { ChangedError, TakenError } from './errors.ts'
import type { BackupCopyRow, BackupTargetReader, BackupTargetRow, BackupTargetWriter } from './model/backup-targets.ts'
import type { BackupTargetsTable } from './schema-backups.ts'

export function backupTargetReader({ db }: Reading): BackupTargetReader {
  const targets = db.selectFrom('backup_targets').selectAll()
  return {
    find: async (id) => {
      const row = await targets.where('id', '=', id).executeTakeFirst()
      return row === undefined ? null : targetOf(row)
    },
    all: async () => (await targets.orderBy('name').execute()).map(targetOf),
    copies: async () => {
      const rows = await db.selectFrom('backup_copies').selectAll().orderBy('at').orderBy('target').execute()
      return rows.map((row) => ({ ...row, state: row.state as BackupCopyRow['state'] }))
    },
    leftovers: async (target) => {
      const rows = await db.selectFrom('backup_copy_leftovers').select('backup').where('target', '=', target).execute()
      return rows.map(({ backup }) => backup)
    },
    pieces: async (target, backup) => {
      const rows = await db
        .selectFrom('backup_copy_pieces')
        .selectAll()
        .where('target', '=', target)
        .where('backup', '=', backup)
        .execute()
      return new Map(
        rows.map(({ number, bytes, sha256, content_sha256 }) => [
          number,
          { bytes, sha256, contentSha256: content_sha256 },
        ]),
      )
    },
  }
}

export function backupTargetWriter({ db, now }: Writing): BackupTargetWriter {
  const forget = async (table: 'backup_copies' | 'backup_copy_pieces', target: string | null, backup: string) => {
    const query = db.deleteFrom(table).where('backup', '=', backup)
    await (target === null ? query : query.where('target', '=', target)).execute()
  }
  const putLeftover = async (target: string, backup: string) => {
    await db
      .insertInto('backup_copy_leftovers')
      .values({ target, backup })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  return {
    putLeftover,
    forgetLeftover: async (target, backup) => {
      await db.deleteFrom('backup_copy_leftovers').where('target', '=', target).where('backup', '=', backup).execute()
    },
    insert: async ({ id, name, kind, settings }) => {
      const holder = await db.selectFrom('backup_targets').select('id').where('name', '=', name).executeTakeFirst()
      if (holder !== undefined) throw new TakenError('backup target name', holder.id)
      const row = { id, name, kind, settings: JSON.stringify(settings), created_at: now, checked_at: now }
      await db.insertInto('backup_targets').values(row).execute()
      return targetOf(row)
    },
    checked: async (id) => {
      const row = await db
        .updateTable('backup_targets')
        .set({ checked_at: now })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      if (row === undefined) throw new ChangedError(`The backup target ${id} is not there any more.`)
      return targetOf(row)
    },
    delete: async (id) => {
      await db.deleteFrom('backup_targets').where('id', '=', id).execute()
    },
    putCopy: async (target, backup, state) => {
      const found = { state, at: now }
      await db
        .insertInto('backup_copies')
        .values({ target, backup, ...found })
        .onConflict((conflict) => conflict.columns(['target', 'backup']).doUpdateSet(found))
        .execute()
      if (state === 'complete') await forget('backup_copy_pieces', target, backup)
      return { target, backup, ...found }
    },
    putPiece: async (target, backup, number, { bytes, sha256, contentSha256 }) => {
      const piece = { bytes, sha256, content_sha256: contentSha256 }
      await db
        .insertInto('backup_copy_pieces')
        .values({ target, backup, number, ...piece })
        .onConflict((conflict) => conflict.columns(['target', 'backup', 'number']).doUpdateSet(piece))
        .execute()
    },
    forgetCopy: async (target, backup) => {
      await forget('backup_copy_pieces', target, backup)
      await forget('backup_copies', target, backup)
    },
    forgetCopies: async (backup) => {
      const given = db.selectFrom('backup_copies').select('target').where('backup', '=', backup)
      for (const { target } of await given.where('state', '!=', 'complete').execute()) await putLeftover(target, backup)
      await forget('backup_copy_pieces', null, backup)
      await forget('backup_copies', null, backup)
    },
  }
}

function targetOf(row: BackupTargetsTable): BackupTargetRow {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind as BackupTargetRow['kind'],
    settings: JSON.parse(row.settings) as BackupTargetRow['settings'],
    createdAt: row.created_at,
    checkedAt: row.checked_at,
  }
}
