import type { CallResult } from '@stackquay/contract'
import { plainText } from '../output/plain-text.ts'
import type { Style } from '../output/style.ts'
import { table } from '../output/table.ts'

type Result = CallResult<'queryDatabase'>
type Cell = Result['rows'][number][number]

/** What a statement answered, for people. */
export function queryText(result: Result, style: Style): string {
  const { columns, rows, plan, command, affected, truncated } = result
  if (plan !== null) return planLines(plan as Plan, 0).join('\n')
  if (columns.length === 0) return `${command}${affected === null ? '' : ` ${affected}`}`
  const shown = table(
    columns.map(({ name }) => plainText(name)),
    rows.map((row) => row.map(cellText)),
    style,
  )
  const more = truncated === null ? '' : ', and there are more'
  return `${shown}\n${style.colors.dim(`${rows.length === 1 ? '1 row' : `${rows.length} rows`}${more}`)}`
}

function cellText(cell: Cell): string {
  if (cell === null) return 'NULL'
  if (typeof cell !== 'object') return plainText(String(cell))
  return 'cut' in cell ? `${plainText(cell.cut.slice(0, 200))}… (${cell.bytes} bytes)` : `[${cell.bytes} bytes]`
}

interface Plan {
  readonly label: string
  readonly details: readonly string[]
  readonly rows: number | null
  readonly milliseconds: number | null
  readonly children: readonly Plan[]
}

function planLines({ label, details, rows, milliseconds, children }: Plan, depth: number): string[] {
  const indent = '  '.repeat(depth)
  const numbers = [rows === null ? '' : ` rows=${rows}`, milliseconds === null ? '' : ` ${milliseconds} ms`].join('')
  return [
    `${indent}${depth === 0 ? '' : '-> '}${plainText(label)}${numbers}`,
    ...details.map((detail) => `${indent}     ${plainText(detail)}`),
    ...children.flatMap((child) => planLines(child, depth + 1)),
  ]
}
