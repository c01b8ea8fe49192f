import type { ColumnFacts, Statement } from './driver.ts'
import type { PlanNode } from './plan-tree.ts'

/** In what the languages of servers differ. */
export interface SqlDialect {
  quote(name: string): string
  /** The place of the value with this index, from 1. */
  place(index: number): string
  /** For people who look at a statement before it is carried out; never sent. */
  literal(value: string | Buffer | null): string
  /** A column as text. */
  asText(column: string): string
  /** Whether NULL comes behind everything else in ascending order. */
  readonly nullsLast: boolean
  /** Text that matches a pattern of LIKE, whatever its case. */
  like(column: string, place: string): string
  insertDefaults(table: string): string
  explain(sql: string, analyze: boolean): string
  /** Of the text that an EXPLAIN answers. */
  plan(text: string): PlanNode
}

/** Collects values while a statement is written. */
export class StatementWriter {
  readonly values: (string | Buffer | null)[] = []
  readonly #dialect: SqlDialect

  constructor(dialect: SqlDialect) {
    this.#dialect = dialect
  }

  value(value: string | Buffer): string {
    this.values.push(value)
    return this.#dialect.place(this.values.length)
  }

  /** `column = value`, also for NULL and for types without "=". */
  equals({ name, comparable }: ColumnFacts, value: string | Buffer | null): string {
    const column = this.#dialect.quote(name)
    if (value === null) return `${column} IS NULL`
    return `${comparable ? column : this.#dialect.asText(column)} = ${this.value(value)}`
  }

  statement(text: string): Statement {
    return { text, values: this.values }
  }
}
