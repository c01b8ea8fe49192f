import { fit, widthOf } from './plain-text.ts'
import type { Style } from './style.ts'

export interface Cell {
  readonly text: string
  readonly paint?: (text: string) => string
}

/**
 * Columns aligned, two spaces between them, headings in the first line. Where the width is known, the last column
 * gives way; without one (a file, a pipe) nothing is cut.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | Cell)[])[],
  style: Style,
): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? { text: cell } : cell)))
  const widths = headings.map((heading, column) =>
    Math.max(widthOf(heading), ...cells.map((row) => widthOf(row[column]?.text ?? ''))),
  )
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0)
  const room = style.columns === null ? Number.POSITIVE_INFINITY : Math.max(12, style.columns - before)
  const line = (row: readonly Cell[]) =>
    row
      .map((cell, column) => {
        const last = column === headings.length - 1
        const text = last ? fit(cell.text, room) : cell.text
        const padding = last ? '' : ' '.repeat(widths[column]! - widthOf(text))
        return (cell.paint?.(text) ?? text) + padding
      })
      .join('  ')
      .trimEnd()
  return [line(headings.map((text) => ({ text, paint: style.colors.dim }))), ...cells.map(line)].join('\n')
}

/** `label  value` lines, labels aligned. */
export function fields(rows: readonly (readonly [label: string, value: string])[], style: Style): string {
  const width = Math.max(0, ...rows.map(([label]) => widthOf(label)))
  return rows
    .map(([label, value]) => `${style.colors.dim(label)}${' '.repeat(width - widthOf(label) + 2)}${value}`.trimEnd())
    .join('\n')
}
