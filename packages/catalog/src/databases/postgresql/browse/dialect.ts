import type { SqlDialect } from '../../../browse/dialect.ts'
import { BrowseError } from '../../../browse/driver.ts'
import { fieldsOf, numberIn, type PlanNode } from '../../../browse/plan-tree.ts'
import { quoted } from '../quoted.ts'

export const dialect: SqlDialect = {
  quote: quoted,
  place: (index) => `$${index}`,
  literal: (value) => {
    if (value === null) return 'NULL'
    if (typeof value !== 'string') return `'\\x${value.toString('hex')}'`
    const text = `'${value.replaceAll("'", "''")}'`
    return value.includes('\\') ? ` E${text.replaceAll('\\', '\\\\')}` : text
  },
  asText: (column) => `${column}::text`,
  nullsLast: true,
  like: (column, place) => `${column} ILIKE ${place}`,
  insertDefaults: (table) => `INSERT INTO ${table} DEFAULT VALUES`,
  explain: (sql, analyze) => `EXPLAIN (FORMAT JSON${analyze ? ', ANALYZE, BUFFERS' : ''}) ${sql}`,
  plan: (text) => {
    try {
      const [first] = JSON.parse(text) as { readonly Plan?: unknown }[]
      return node(first?.Plan, 0)
    } catch {
      throw new BrowseError(
        'refused',
        'The server answered no plan: it explains one SELECT, INSERT, UPDATE, DELETE or MERGE.',
      )
    }
  },
}

/** The fields that say what a step does; others are estimates and inner matters. */
const told = [
  'Join Type',
  'Index Cond',
  'Hash Cond',
  'Merge Cond',
  'Join Filter',
  'Filter',
  'Recheck Cond',
  'Sort Key',
  'Group Key',
  'Sort Method',
  'Rows Removed by Filter',
  'Actual Rows',
  'Actual Loops',
  'Shared Hit Blocks',
  'Shared Read Blocks',
]

function node(value: unknown, depth: number): PlanNode {
  const fields = fieldsOf(value)
  const on = [fields['Index Name'], fields['Relation Name'] ?? fields['CTE Name'] ?? fields['Function Name']]
  const children = Array.isArray(fields.Plans) && depth < 60 ? fields.Plans : []
  return {
    label: [fields['Node Type'], ...on.map((name) => (name === undefined ? null : `on ${name}`))]
      .filter((one) => one)
      .join(' '),
    details: told.filter((name) => fields[name] !== undefined).map((name) => `${name}: ${fields[name]}`.slice(0, 500)),
    rows: numberIn(fields, 'Plan Rows'),
    cost: numberIn(fields, 'Total Cost'),
    milliseconds: numberIn(fields, 'Actual Total Time'),
    children: children.map((child) => node(child, depth + 1)),
  }
}
