import type { DatabaseType } from '../entry-types.ts'
import { mariadb } from './mariadb/mariadb.ts'
import { mysql } from './mysql/mysql.ts'
import { postgresql } from './postgresql/postgresql.ts'

/** One line a database; a test compares this list with the folders beside it. */
export const databaseTypes: readonly DatabaseType[] = [postgresql, mariadb, mysql]

/** By name or alias: `postgres` is `postgresql`. */
export function databaseTypeOf(name: string): DatabaseType | undefined {
  return databaseTypes.find((kind) => kind.name === name || kind.aliases.includes(name))
}
