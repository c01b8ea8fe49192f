import type { Run } from '@stackquay/contract'
import type { Reading, Writing } from './context.ts'
import { ChangedError } from './errors.ts'
import { given } from './prepared.ts'
import type { RunsTable, TestCasesTable } from './schema.ts'
import type { RunQuestions, RunRow, TestCaseRow, Transaction } from './store.ts'

const unfinishedStates = ['queued', 'running']

export function runQuestions({ db, prepare }: Reading): RunQuestions {
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
    cases: async (run, { limit, after, outcome }) => {
      let query = db.selectFrom('test_cases').selectAll().where('run', '=', run).orderBy('position').limit(limit)
      if (after !== undefined) query = query.where('position', '>', after)
      if (outcome === 'flaky') query = query.where('flaky', '=', 1)
      else if (outcome !== undefined) query = query.where('outcome', '=', outcome)
      return (await query.execute()).map(caseOf)
    },
    outcomesOn: async (project, name, source) =>
      (
        await db
          .selectFrom('test_cases')
          .innerJoin('runs', 'runs.id', 'test_cases.run')
          .select(['test_cases.name', 'case_group', 'file', 'outcome'])
          .distinct()
          .where('runs.project', '=', project)
          .where('runs.name', '=', name)
          .where('runs.source', '=', source)
          .where('outcome', 'in', ['passed', 'failed'])
          .execute()
      ).map((row) => ({
        name: row.name,
        group: row.case_group,
        file: row.file,
        outcome: row.outcome as TestCaseRow['outcome'],
      })),
  }
}

export function runChanges({ db, now }: Writing): Transaction['runs'] {
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
          // Names itself, so that a change of nothing is still a sentence.
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
    putCases: async (run, cases) => {
      await db.deleteFrom('test_cases').where('run', '=', run).execute()
      // SQLite takes so many values in one sentence.
      for (let at = 0; at < cases.length; at += 200) {
        const rows = cases.slice(at, at + 200).map(
          (one, offset): TestCasesTable => ({
            run,
            position: at + offset,
            name: one.name,
            case_group: one.group,
            file: one.file,
            line: one.line,
            outcome: one.outcome,
            seconds: one.seconds,
            message: one.message,
            details: one.details,
            flaky: one.flaky ? 1 : 0,
          }),
        )
        await db.insertInto('test_cases').values(rows).execute()
      }
    },
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

function caseOf(row: TestCasesTable): TestCaseRow {
  return {
    position: row.position,
    name: row.name,
    group: row.case_group,
    file: row.file,
    line: row.line,
    outcome: row.outcome as TestCaseRow['outcome'],
    seconds: row.seconds,
    message: row.message,
    details: row.details,
    flaky: row.flaky === 1,
  }
}
