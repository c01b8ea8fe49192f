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
const mostLines = 500
const mostOfLine = 2000

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

/**
 * MySQL's `-> Filter: (…)  (cost=1.25 rows=3) (actual time=0.1..0.2 rows=2 loops=4)`: four spaces for each level. Estimates stand for the rows, and
 * the time is of all loops.
 */
export function planOfLines(label: string, text: string): PlanNode {
  const root: Growing = { label, details: [], rows: null, cost: null, milliseconds: null, children: [] }
  const path: Growing[] = [root]
  for (const line of text.split('\n', mostLines)) {
    const [, indent, step] = /^( *)-> (.*)$/.exec(line) ?? []
    if (indent === undefined || step === undefined) {
      const last = path.at(-1)!
      if (line.trim() !== '' && last.details.length < mostDetails) last.details.push(line.trim().slice(0, 500))
      continue
    }
    const node = nodeOfLine(step.slice(0, mostOfLine))
    path.length = Math.min(path.length, 1 + Math.min(indent.length / 4, deepest))
    path.at(-1)!.children.push(node)
    path.push(node)
  }
  return root
}

type Growing = PlanNode & { readonly details: string[]; readonly children: PlanNode[] }

function nodeOfLine(step: string): Growing {
  const at = step.search(/ {2}\((cost|actual)\b| \(actual time=/)
  const label = (at === -1 ? step : step.slice(0, at)).slice(0, 500)
  const figures = at === -1 ? '' : step.slice(at).trim()
  const [, cost = ''] = /\(cost=(?:[^ ]*\.\.)?([\d.e+-]+)/.exec(figures) ?? []
  const [, rows = ''] = /\(cost=[^)]*\brows=([\d.e+-]+)/.exec(figures) ?? []
  const [, time = '', loops = ''] = /\(actual time=[^ ]*?\.\.([\d.e+-]+)[^)]*\bloops=([\d.e+-]+)/.exec(figures) ?? []
  return {
    label,
    details: figures === '' ? [] : [figures.slice(0, 500)],
    rows: numberIn({ rows: rows || undefined }, 'rows'),
    cost: numberIn({ cost: cost || undefined }, 'cost'),
    milliseconds: time === '' ? null : numberIn({ time: Number(time) * Number(loops) }, 'time'),
    children: [],
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
