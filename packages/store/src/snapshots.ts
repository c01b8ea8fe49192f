import type { Reading, Writing } from './context.ts'
import type { SnapshotReader, SnapshotRow, SnapshotWriter } from './model/snapshots.ts'
import type { SnapshotsTable } from './schema-backups.ts'

export function snapshotReader({ db }: Reading): SnapshotReader {
  const from = db.selectFrom('snapshots').selectAll()
  return {
    of: async (project) => {
      const rows = await from.where('project', '=', project).orderBy('id', 'desc').execute()
      return rows.map(rowOf)
    },
    find: async (project, id) => {
      const row = await from.where('project', '=', project).where('id', '=', id).executeTakeFirst()
      return row === undefined ? null : rowOf(row)
    },
  }
}

export function snapshotWriter({ db, now }: Writing): SnapshotWriter {
  return {
    insert: async (snapshot) => {
      const row = { archive: null, piece: null, ...snapshot }
      await db
        .insertInto('snapshots')
        .values({ ...row, created_at: now })
        .execute()
      return { ...row, createdAt: now }
    },
    delete: async (project, id) => {
      await db.deleteFrom('snapshots').where('project', '=', project).where('id', '=', id).execute()
    },
  }
}

function rowOf({ created_at: createdAt, source, method, ...row }: SnapshotsTable): SnapshotRow {
  return { ...row, createdAt, source: source as SnapshotRow['source'], method: method as SnapshotRow['method'] }
}
