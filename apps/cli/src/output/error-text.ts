import type { Report } from '../errors.ts'
import { plainText } from './plain-text.ts'
import type { Style } from './style.ts'

/** `✖ title: detail`, then what belongs to it, then what to do. */
export function errorText(report: Report, { colors }: Style): string {
  const { fields, title, detail, hint } = report
  // Where the field says it, with its place, the head need not.
  const isTold = title !== '' && fields.some((field) => detail.endsWith(field.detail))
  const head = title === '' ? detail : isTold ? `${title}.` : `${title}: ${detail}`
  const lines = [`${colors.red('✖')} ${report.code === 'internal_error' ? head : plainText(head)}`]
  for (const { pointer, detail } of fields) {
    lines.push(
      `  ${colors.bold(pointer === '' ? 'body' : pointer.replace(/^\//, '').replaceAll('/', '.'))}: ${plainText(detail)}`,
    )
  }
  for (const line of report.excerpt) lines.push(`  ${line}`)
  // What stands in the answer's "errors" has just been shown.
  const isShown = fields.length > 0 && hint !== null && hint.includes('"errors"')
  if (hint !== null && !isShown) lines.push(`  ${colors.cyan('→')} ${plainText(hint)}`)
  if (report.code === 'internal_error' && report.requestId !== null)
    lines.push(colors.dim(`  request ${report.requestId}`))
  return lines.join('\n')
}

export function errorJson(report: Report): string {
  const { title, detail, hint, fields, excerpt, requestId, code, exitCode } = report
  return JSON.stringify({ error: { code, title, detail, hint, errors: fields, excerpt, requestId, exitCode } })
}
