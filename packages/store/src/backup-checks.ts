import type { BackupVerification } from '@stackquay/contract'
import type { Reading, Writing } from './context.ts'
import type { BackupCheckReader, BackupCheckWriter } from './model/backup-checks.ts'

export function backupCheckReader({ db }: Reading): BackupCheckReader {
  return {
    all: async () => {
      const rows = await db.selectFrom('backup_checks').selectAll().execute()
      return new Map(
        rows.map(({ backup, checked_at, outcome, seconds, checks }) => [
          backup,
          {
            at: checked_at,
            outcome: outcome as BackupVerification['outcome'],
            seconds,
            checks: JSON.parse(checks) as BackupVerification['checks'],
          },
        ]),
      )
    },
  }
}

export function backupCheckWriter({ db, now }: Writing): BackupCheckWriter {
  return {
    put: async (backup, { outcome, seconds, checks }) => {
      const found = { checked_at: now, outcome, seconds, checks: JSON.stringify(checks) }
      await db
        .insertInto('backup_checks')
        .values({ backup, ...found })
        .onConflict((conflict) => conflict.column('backup').doUpdateSet(found))
        .execute()
      return { at: now, outcome, seconds, checks }
    },
    delete: async (backup) => {
      await db.deleteFrom('backup_checks').where('backup', '=', backup).execute()
    },
  }
}
