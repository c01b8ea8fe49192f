import { type Compilable, CompiledQuery } from 'kysely'
import type { SqliteFile } from './dialect.ts'

class Given {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/** Stands in a query for a value that is named when it is asked. */
export function given<T>(name: string): T {
  return new Given(name) as T
}

/** A question asked often: Kysely builds and compiles it once, then it is one prepared statement. */
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

/**
 * Keeps what `ask` found for as long as nothing at all is written. SQLite is asked each time for the version of its data,
 * which every commit changes, also one of another process, so a kept answer is the one that asking again would give; that
 * costs less than half of a look-up with a join. What is not found is not kept: strangers must not fill the memory.
 * `ask` must depend on the database alone, not on the time.
 */
export function kept<Key, Answer>(prepare: Prepare, ask: (key: Key) => Answer | null): (key: Key) => Answer | null {
  const dataVersion = prepare<{ data_version: number }>({ compile: () => CompiledQuery.raw('pragma data_version') })
  const answers = new Map<Key, Answer>()
  let version: number | undefined
  return (key) => {
    // Before `ask`: a commit between the two then makes its answer look older than it is, never newer.
    const now = dataVersion({})[0]!.data_version
    if (now !== version) answers.clear()
    version = now
    const known = answers.get(key)
    if (known !== undefined) return known
    const answer = ask(key)
    if (answer === null) return null
    if (answers.size >= answersKept) answers.clear()
    answers.set(key, answer)
    return answer
  }
}

const answersKept = 1_000
