import type { SqlDialect } from '../dialect.ts'
import { BrowseError } from '../driver.ts'
import { planOfJson, planOfLines } from '../plan-tree.ts'

/** The two servers tell what was measured in different words. */
export function familyDialect(isMariadb: boolean): SqlDialect {
  return {
    quote: (name) => `\`${name.replaceAll('`', '``')}\``,
    place: () => '?',
    literal: (value) => {
      if (value === null) return 'NULL'
      if (typeof value !== 'string') return `X'${value.toString('hex')}'`
      return `'${value.replaceAll('\\', String.raw`\\`).replaceAll("'", "''")}'`
    },
    asText: (column) => `CAST(${column} AS CHAR)`,
    nullsLast: false,
    like: (column, place) => `LOWER(${column}) LIKE LOWER(${place})`,
    insertDefaults: (table) => `INSERT INTO ${table} () VALUES ()`,
    explain: (sql, analyze) => {
      if (!analyze) return `EXPLAIN FORMAT=JSON ${sql}`
      return isMariadb ? `ANALYZE FORMAT=JSON ${sql}` : `EXPLAIN ANALYZE ${sql}`
    },
    plan: (text) => {
      try {
        return planOfJson('query', JSON.parse(text) as unknown)
      } catch {
        // The one that measures in no other form.
        if (text.startsWith('->')) return planOfLines('query', text)
        throw new BrowseError(
          'refused',
          'The server answered no plan: it explains one SELECT, INSERT, UPDATE or DELETE.',
        )
      }
    },
  }
}
