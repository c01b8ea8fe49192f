import type { Problem } from '@stackquay/contract'
import type { Writing } from './context.ts'
import type { RestoredWriter } from './model/restored.ts'

/** What an older state had under way must not go on in a world that went on without it. */
export function restoredWriter({ db, now }: Writing): RestoredWriter {
  return {
    endUnderWay: async (problem: Problem) => {
      const ended = { state: 'failed', error: JSON.stringify(problem), finished_at: now }
      const unfinished = ['queued', 'running']
      const operations = await db
        .updateTable('operations')
        .set(ended)
        .where('state', 'in', unfinished)
        .returning('id')
        .execute()
      const runs = await db.updateTable('runs').set(ended).where('state', 'in', unfinished).returning('id').execute()
      await db
        .updateTable('webhook_deliveries')
        .set({ state: 'failed', next_attempt_at: null })
        .where('state', '=', 'pending')
        .execute()
      // What it had to tell is of another time; the channels themselves go on.
      await db
        .updateTable('notification_deliveries')
        .set({ state: 'failed', next_attempt_at: null })
        .where('state', '=', 'pending')
        .execute()
      await db.deleteFrom('notification_groups').execute()
      await db.deleteFrom('shares').execute()
      return { operations: operations.map(({ id }) => id), runs: runs.map(({ id }) => id) }
    },
  }
}
