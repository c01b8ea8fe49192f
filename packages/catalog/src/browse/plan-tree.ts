/** A step of a plan, whatever the server calls it. */
export interface PlanNode {
  readonly label: string
  readonly details: readonly string[]
  readonly rows: number | null
  readonly cost: number | null
  /** Measured; null when the statement was not carried out. */
  readonly milliseconds: number | null
  readonly children: readonly PlanNode[]
}

const deepest = 60
const mostDetails = 40

/** Any JSON as a tree: what is an object is a step, everything else a detail of it. */
export function planOfJson(label: string, value: unknown, depth = 0): PlanNode {
  const details: string[] = []
  const children: PlanNode[] = []
  const fields = fieldsOf(value)
  for (const [name, field] of Object.entries(fields)) {
    if (typeof field !== 'object' || field === null) details.push(`${name}: ${String(field)}`.slice(0, 500))
    else if (Array.isArray(field) && field.every((one) => typeof one !== 'object'))
      details.push(`${name}: ${field.join(', ')}`.slice(0, 500))
    else if (depth < deepest) {
      const list = Array.isArray(field) ? field : [field]
      for (const one of list) children.push(planOfJson(name, one, depth + 1))
    }
  }
  const table = fields.table_name
  return {
    label: typeof table === 'string' ? `${label} ${table}` : label,
    details: details.slice(0, mostDetails),
    rows: numberIn(fields, 'rows', 'rows_examined_per_scan'),
    cost: numberIn(fields, 'cost', 'query_cost'),
    milliseconds: numberIn(fields, 'r_total_time_ms'),
    children,
  }
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

export function numberIn(fields: Readonly<Record<string, unknown>>, ...names: readonly string[]): number | null {
  for (const name of names) {
    const number = Number(fields[name] ?? Number.NaN)
    if (Number.isFinite(number)) return number
  }
  return null
}
