import type { FieldError } from '@stackquay/contract'
import type { Colors } from './style.ts'

/**
 * Where a text is wrong, as compilers show it:
 *
 *     stackquay.yml:7:5 unknown key "exposePrt", did you mean "exposePort"?
 *       6 | databases:
 *     > 7 |     exposePrt: true
 *         |     ^
 */
export function codeFrame(file: string, text: string, error: FieldError, colors: Colors): string {
  if (error.line === undefined)
    return `${colors.bold(file)} ${error.pointer === '' ? '' : `${error.pointer}: `}${error.detail}`
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  const column = error.column ?? 1
  const first = Math.max(1, error.line - 2)
  const last = Math.min(lines.length, error.line + 1)
  const width = String(last).length
  const shown = [`${colors.bold(`${file}:${error.line}:${column}`)} ${error.detail}`]
  for (let number = first; number <= last; number++) {
    const source = lines[number - 1]!.replaceAll('\t', ' ')
    const gutter = `${String(number).padStart(width)} |`
    if (number !== error.line) {
      shown.push(colors.dim(`  ${gutter} ${source}`).trimEnd())
      continue
    }
    shown.push(`${colors.red('>')} ${gutter} ${source}`.trimEnd())
    shown.push(`  ${' '.repeat(width)} | ${' '.repeat(column - 1)}${colors.red('^')}`)
  }
  return shown.join('\n')
}
