import type { DatabaseType } from '../kind.ts'
import { mariadb } from './mariadb/mariadb.ts'
import { mysql } from './mysql/mysql.ts'
import { postgresql } from './postgresql/postgresql.ts'

/** One line a database; a test compares this list with the folders beside it. */
export const databaseKinds: readonly DatabaseType[] = [postgresql, mariadb, mysql]

/** By name or alias: `postgres` is `postgresql`. */
export function databaseKindOf(name: string): DatabaseType | undefined {
  return databaseKinds.find((kind) => kind.name === name || kind.aliases.includes(name))
}
