import { type Compilable, CompiledQuery, type Kysely } from 'kysely'
import type { SqliteFile } from './dialect.ts'
import type { Schema } from './schema.ts'

class Given {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/** A placeholder in a query; its value is given when the query runs. */
export function given<T>(name: string): T {
  return new Given(name) as T
}

/** For a frequent query: Kysely builds and compiles it once, then it is one prepared statement. */
export type Prepare = <Row>(query: Compilable<Row>) => (values: Readonly<Record<string, unknown>>) => Row[]

export function prepareOn(file: SqliteFile): Prepare {
  return <Row>(query: Compilable<Row>) => {
    const { sql, parameters } = query.compile()
    const fixed = parameters.map((parameter) => (parameter instanceof Given ? undefined : parameter))
    const named = parameters.flatMap((parameter, index) =>
      parameter instanceof Given ? [{ index, name: parameter.name }] : [],
    )
    return (values) => {
      const filled = fixed.slice()
      for (const { index, name } of named) filled[index] = values[name]
      return file.all<Row>(sql, filled)
    }
  }
}

/** A frequent query of writers. */
export interface Statement<Row> {
  build(db: Kysely<Schema>): Compilable<Row>
}

export function statement<Row>(build: Statement<Row>['build']): Statement<Row> {
  return { build }
}

/** For a whole row: its values are given when the query runs. All columns are named, so that none is forgotten when one is added. */
export function givenRow<Row extends object>(columns: Readonly<Record<keyof Row & string, true>>): Row {
  return Object.fromEntries(Object.keys(columns).map((column) => [column, given(column)])) as Row
}

/** In the transaction that is open. Values are given by the names that the statement has for them. */
export type RunStatement = <Row>(statement: Statement<Row>, values: object) => Row[]

/** Writers live as long as a transaction, their statements as long as the store: each is built when it is first run. */
export function statementsOn(db: Kysely<Schema>, prepare: Prepare): RunStatement {
  const built = new Map<Statement<unknown>, ReturnType<Prepare>>()
  return <Row>(statement: Statement<Row>, values: object) => {
    let run = built.get(statement)
    if (run === undefined) {
      run = prepare(statement.build(db))
      built.set(statement, run)
    }
    return run(values as Readonly<Record<string, unknown>>) as Row[]
  }
}

/** Answers that stay in memory for as long as they are true. */
export interface Kept<Key, Answer> {
  /** The answer from memory, in the same turn. Undefined when it must be asked for. */
  recall(key: Key): Answer | undefined
  /** From memory or from the database. Null for what is not there. */
  ask(key: Key): Promise<Answer | null>
}

/**
 * Keeps what `lookUp` found for as long as nothing at all is written. SQLite is asked each time for the version of its data,
 * which every commit changes, also one of another process, so a kept answer is the one that asking again would give; that
 * costs less than half of a look-up with a join. What is not found is not kept: strangers must not fill the memory.
 * `lookUp` must depend on the database alone, not on the time.
 */
export function kept<Key, Answer>(prepare: Prepare, lookUp: (key: Key) => Promise<Answer | null>): Kept<Key, Answer> {
  const dataVersion = prepare<{ data_version: number }>({ compile: () => CompiledQuery.raw('pragma data_version') })
  const answers = new Map<Key, Answer>()
  let version: number | undefined

  /** Forgets everything when anything was written. */
  const versionNow = (): number => {
    const now = dataVersion({})[0]!.data_version
    if (now !== version) answers.clear()
    version = now
    return now
  }

  return {
    recall: (key) => {
      versionNow()
      return answers.get(key)
    },
    ask: async (key) => {
      // Before the look-up: a commit between the two then makes its answer look older than it is, never newer.
      const asked = versionNow()
      const known = answers.get(key)
      if (known !== undefined) return known
      const answer = await lookUp(key)
      // While it was looked up, somebody may have asked at a newer version.
      if (answer === null || asked !== version) return answer
      if (answers.size >= answersKept) answers.clear()
      answers.set(key, answer)
      return answer
    },
  }
}

const answersKept = 1_000
