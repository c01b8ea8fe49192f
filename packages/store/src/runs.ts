import type { Run } from '@stackquay/contract'
import type { Reading, Writing } from './context.ts'
import { ChangedError } from './errors.ts'
import type { RunReader, RunRow, RunWriter } from './model/runs.ts'
import { given } from './prepared.ts'
import type { RunsTable } from './schema.ts'
import { casesOf, outcomesOn, putCases } from './test-cases.ts'

const unfinishedStates = ['queued', 'running']

export function runReader({ db, prepare }: Reading): RunReader {
  const from = db.selectFrom('runs').selectAll()
  const byId = prepare(from.where('id', '=', given<string>('id')))
  const newest = prepare(
    from
      .where('project', '=', given<string>('project'))
      .where('kind', '=', given<string>('kind'))
      .where('id', 'in', (query) =>
        query
          .selectFrom('runs')
          .select(({ fn }) => fn.max('id').as('id'))
          .where('project', '=', given<string>('project'))
          .where('kind', '=', given<string>('kind'))
          .groupBy('name'),
      ),
  )

  return {
    find: async (id) => byId({ id }).map(runOf)[0] ?? null,
    list: async ({ project, limit, cursor, kind, name, state }) => {
      let query = from.where('project', '=', project).orderBy('id', 'desc').limit(limit)
      if (cursor !== undefined) query = query.where('id', '<', cursor)
      if (kind !== undefined) query = query.where('kind', '=', kind)
      if (name !== undefined) query = query.where('name', '=', name)
      if (state !== undefined) query = query.where('state', '=', state)
      return (await query.execute()).map(runOf)
    },
    lastOf: async (project, kind) => newest({ project, kind }).map(runOf),
    unfinished: async () => (await from.where('state', 'in', unfinishedStates).orderBy('id').execute()).map(runOf),
    ids: async () => (await db.selectFrom('runs').select('id').execute()).map((row) => row.id),
    cases: (run, options) => casesOf(db, run, options),
    outcomesOn: (project, name, source) => outcomesOn(db, project, name, source),
  }
}

export function runWriter({ db, now }: Writing): RunWriter {
  return {
    insert: async (run) => {
      const row: RunsTable = {
        id: run.id,
        project: run.project,
        kind: run.kind,
        name: run.name,
        label: run.label,
        runtime: run.runtime,
        state: 'queued',
        phase: null,
        filter: run.filter,
        source: null,
        exit_code: null,
        signal: null,
        error: null,
        counts: null,
        actor: run.actor,
        request_id: run.requestId,
        created_at: now,
        started_at: null,
        finished_at: null,
        plan: JSON.stringify(run.plan),
      }
      await db.insertInto('runs').values(row).execute()
      return runOf(row)
    },
    update: async (id, change) => {
      const row = await db
        .updateTable('runs')
        .set({
          // Sets itself, so that a change of nothing is still valid SQL.
          id,
          state: change.state,
          phase: change.phase,
          source: change.source,
          exit_code: change.exitCode,
          signal: change.signal,
          error: jsonOrNull(change.error),
          counts: jsonOrNull(change.counts),
          started_at: change.startedAt,
          finished_at: change.finishedAt,
          plan: change.plan === undefined ? undefined : JSON.stringify(change.plan),
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      if (row === undefined) throw new ChangedError(`Run ${id} is not there any more.`)
      return runOf(row)
    },
    putCases: (run, cases) => putCases(db, run, cases),
    keepNewest: async (project, kind, name, count) => {
      const old = await db
        .selectFrom('runs')
        .select('id')
        .where('project', '=', project)
        .where('kind', '=', kind)
        .where('name', '=', name)
        .where('state', 'not in', unfinishedStates)
        .orderBy('id', 'desc')
        .offset(count)
        .limit(1000)
        .execute()
      const ids = old.map((row) => row.id)
      if (ids.length > 0) await db.deleteFrom('runs').where('id', 'in', ids).execute()
      return ids
    },
  }
}

function jsonOrNull(value: unknown): string | null | undefined {
  return value === undefined ? undefined : value === null ? null : JSON.stringify(value)
}

function runOf(row: RunsTable): RunRow {
  return {
    id: row.id,
    project: row.project,
    kind: row.kind as Run['kind'],
    name: row.name,
    label: row.label,
    runtime: row.runtime,
    state: row.state as Run['state'],
    phase: row.phase,
    filter: row.filter,
    source: row.source,
    exitCode: row.exit_code,
    signal: row.signal,
    error: row.error === null ? null : (JSON.parse(row.error) as Run['error']),
    counts: row.counts === null ? null : (JSON.parse(row.counts) as Run['tests']),
    actor: row.actor,
    requestId: row.request_id,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    plan: JSON.parse(row.plan) as RunRow['plan'],
  }
}
