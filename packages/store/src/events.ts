import type { EventRecord } from '@stackquay/contract'
import { sql } from 'kysely'
import type { Reading, Writing } from './context.ts'
import type { EventReader, EventWriter } from './model/events.ts'
import { given, statement } from './prepared.ts'

export function eventReader({ db, prepare }: Reading): EventReader {
  const following = prepare(
    db
      .selectFrom('events')
      .selectAll()
      .where('seq', '>', given<number>('seq'))
      .orderBy('seq')
      .limit(given<number>('limit')),
  )
  const ends = prepare(
    db
      .selectFrom('events')
      .select([sql<number>`coalesce(min(seq), 0)`.as('first'), sql<number>`coalesce(max(seq), 0)`.as('last')]),
  )

  return {
    after: async (seq, limit) =>
      following({ seq, limit }).map((row) => ({
        seq: row.seq,
        time: row.time,
        type: row.type as EventRecord['type'],
        project: row.project,
        data: JSON.parse(row.data) as EventRecord['data'],
      })),
    range: async () => {
      const { first, last } = ends({})[0] ?? { first: 0, last: 0 }
      return { first, last }
    },
  }
}

const insertEvent = statement((db) =>
  db
    .insertInto('events')
    .values({
      time: given<string>('time'),
      type: given<string>('type'),
      project: given<string | null>('project'),
      data: given<string>('data'),
    })
    .returning('seq'),
)

export function eventWriter({ db, run, now, events }: Writing): EventWriter {
  return {
    append: async ({ type, project, data }) => {
      const text = JSON.stringify(data)
      const { seq } = run(insertEvent, { time: now, type, project, data: text })[0]!
      // A copy, so that listeners and later readers get the same even when the caller changes `data`.
      const event: EventRecord = { seq, time: now, type, project, data: JSON.parse(text) as EventRecord['data'] }
      events.push(event)
      return event
    },
    trim: async (below) => {
      await db.deleteFrom('events').where('seq', '<', below).execute()
    },
  }
}
