import type { Kysely } from 'kysely'
import type { RunReader, RunWriter, TestCaseRow } from './model/runs.ts'
import type { Schema, TestCasesTable } from './schema.ts'

type Query<Name extends 'cases' | 'outcomesOn'> = (
  db: Kysely<Schema>,
  ...given: Parameters<RunReader[Name]>
) => ReturnType<RunReader[Name]>

export const casesOf: Query<'cases'> = async (db, run, { limit, after, outcome }) => {
  let query = db.selectFrom('test_cases').selectAll().where('run', '=', run).orderBy('position').limit(limit)
  if (after !== undefined) query = query.where('position', '>', after)
  if (outcome === 'flaky') query = query.where('flaky', '=', 1)
  else if (outcome !== undefined) query = query.where('outcome', '=', outcome)
  return (await query.execute()).map(caseOf)
}

export const outcomesOn: Query<'outcomesOn'> = async (db, project, name, source) => {
  const rows = await db
    .selectFrom('test_cases')
    .innerJoin('runs', 'runs.id', 'test_cases.run')
    .select(['test_cases.name', 'case_group', 'file', 'outcome'])
    .distinct()
    .where('runs.project', '=', project)
    .where('runs.name', '=', name)
    .where('runs.source', '=', source)
    .where('outcome', 'in', ['passed', 'failed'])
    .execute()
  return rows.map((row) => ({
    name: row.name,
    group: row.case_group,
    file: row.file,
    outcome: row.outcome as TestCaseRow['outcome'],
  }))
}

export async function putCases(
  db: Kysely<Schema>,
  run: string,
  cases: Parameters<RunWriter['putCases']>[1],
): Promise<void> {
  await db.deleteFrom('test_cases').where('run', '=', run).execute()
  // SQLite limits the number of values in one statement.
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
