import type { DatabaseKind } from '../kind.ts'
import { mariadb } from './mariadb/mariadb.ts'
import { mysql } from './mysql/mysql.ts'
import { postgresql } from './postgresql/postgresql.ts'

/** One line a database; a test compares this list with the folders beside it. */
export const databaseKinds: readonly DatabaseKind[] = [postgresql, mariadb, mysql]

/** By name or alias: `postgres` is `postgresql`. */
export function databaseKindOf(name: string): DatabaseKind | undefined {
  return databaseKinds.find((kind) => kind.name === name || kind.aliases.includes(name))
}
