import type { Compilable } from 'kysely'
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
