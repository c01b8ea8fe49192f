import type { EngineName } from '@stackquay/contract'
import type { Reading, Writing } from './context.ts'
import type { CheckpointReader, CheckpointRow, CheckpointWriter } from './model/checkpoints.ts'
import type { CheckpointsTable } from './schema-backups.ts'

export function checkpointReader({ db }: Reading): CheckpointReader {
  const from = db.selectFrom('checkpoints').selectAll()
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

export function checkpointWriter({ db, now }: Writing): CheckpointWriter {
  return {
    insert: async ({ parts, warnings, ...checkpoint }) => {
      await db
        .insertInto('checkpoints')
        .values({ ...checkpoint, parts: JSON.stringify(parts), warnings: JSON.stringify(warnings), created_at: now })
        .execute()
    },
    delete: async (project, id) => {
      await db.deleteFrom('checkpoints').where('project', '=', project).where('id', '=', id).execute()
    },
  }
}

function rowOf({ created_at: createdAt, source, engine, parts, warnings, ...row }: CheckpointsTable): CheckpointRow {
  return {
    ...row,
    createdAt,
    source: source as CheckpointRow['source'],
    engine: engine as EngineName,
    parts: JSON.parse(parts) as CheckpointRow['parts'],
    warnings: JSON.parse(warnings) as string[],
  }
}
