import type { UpgradeComparison } from '../../../upgrade-method.ts'

interface Counted {
  readonly cluster: unknown
  readonly databases: Readonly<Record<string, CountedDatabase>>
}

interface CountedDatabase {
  readonly tables: Readonly<Record<string, { readonly rows: number }>>
  readonly uncounted: readonly string[]
}

/** Two lines that `countScript` printed: of the data before, and of what was made of it. */
export function compare(before: string, after: string): UpgradeComparison {
  const [was, is] = [JSON.parse(before) as Counted, JSON.parse(after) as Counted]
  const databases = Object.entries(was.databases)
  const late = (name: string) => [...(was.databases[name]?.uncounted ?? []), ...(is.databases[name]?.uncounted ?? [])]
  const known = ({ cluster, databases: all }: Counted) => ({
    cluster,
    databases: Object.fromEntries(Object.entries(all).map(([name, one]) => [name, without(one, late(name))])),
  })
  const tables = databases.flatMap(([, one]) => Object.values(one.tables))
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  return {
    difference: differenceOf(known(was), known(is), []),
    compared: `${databases.length} databases, ${tables.length} tables with ${rows.toLocaleString('en')} rows`,
    uncounted: databases.flatMap(([name]) => [...new Set(late(name))].map((table) => `${name}: ${table}`)),
  }
}

function without(database: CountedDatabase, names: readonly string[]): object {
  const tables = Object.entries(database.tables).filter(([name]) => !names.includes(name))
  return { ...database, tables: Object.fromEntries(tables), uncounted: [] }
}

/** Passwords are among what is compared, so the name of what differs is told, and numbers alone. */
function differenceOf(was: unknown, is: unknown, path: readonly string[]): string | null {
  if (JSON.stringify(was) === JSON.stringify(is)) return null
  if (isObject(was) && isObject(is)) {
    for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const found = differenceOf(was[name], is[name], [...path, name])
      if (found !== null) return found
    }
    return null
  }
  const place = path.join(' ')
  return typeof was === 'number' && typeof is === 'number' ? `${place}: ${was} before, ${is} after` : place
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
