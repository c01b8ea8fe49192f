/** What is looked at in a database, as it stands in the address: a reload and a link come back to it. */
export interface BrowserSearch {
  view?: 'sql'
  schema?: string
  table?: string
  sort?: string
  filters?: BrowserFilter[]
}

export const filterOperators = ['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'contains', 'starts', 'null', 'notNull'] as const
export type FilterOperator = (typeof filterOperators)[number]

export interface BrowserFilter {
  readonly column: string
  readonly operator: FilterOperator
  readonly value?: string
}

export function needsValue(operator: FilterOperator): boolean {
  return operator !== 'null' && operator !== 'notNull'
}

export function readBrowserSearch(search: Record<string, unknown>): BrowserSearch {
  const found: BrowserSearch = {}
  if (search.view === 'sql') found.view = 'sql'
  for (const name of ['schema', 'table', 'sort'] as const) {
    const value = search[name]
    // A name of digits alone comes as a number.
    if ((typeof value === 'string' || typeof value === 'number') && String(value) !== '' && String(value).length <= 257)
      found[name] = String(value)
  }
  const filters = Array.isArray(search.filters) ? search.filters.filter(isFilter).slice(0, 20) : []
  if (filters.length > 0) found.filters = filters
  return found
}

function isFilter(value: unknown): value is BrowserFilter {
  if (typeof value !== 'object' || value === null) return false
  const { column, operator, value: wanted } = value as Record<string, unknown>
  const isKnown = filterOperators.some((one) => one === operator)
  return typeof column === 'string' && isKnown && (wanted === undefined || typeof wanted === 'string')
}
