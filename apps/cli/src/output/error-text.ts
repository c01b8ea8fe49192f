import type { Report } from '../errors.ts'
import { plainText } from './plain-text.ts'
import type { Style } from './style.ts'

/** `✖ title: detail`, then what belongs to it, then what to do. */
export function errorText(report: Report, { colors }: Style): string {
  const head = report.title === '' ? report.detail : `${report.title}: ${report.detail}`
  const lines = [`${colors.red('✖')} ${report.code === 'internal_error' ? head : plainText(head)}`]
  for (const { pointer, detail } of report.fields) {
    lines.push(
      `  ${colors.bold(pointer === '' ? 'body' : pointer.replace(/^\//, '').replaceAll('/', '.'))}: ${plainText(detail)}`,
    )
  }
  for (const line of report.excerpt) lines.push(`  ${line}`)
  if (report.hint !== null) lines.push(`  ${colors.cyan('→')} ${plainText(report.hint)}`)
  if (report.code === 'internal_error' && report.requestId !== null)
    lines.push(colors.dim(`  request ${report.requestId}`))
  return lines.join('\n')
}

export function errorJson(report: Report): string {
  const { title, detail, hint, fields, excerpt, requestId, code, exitCode } = report
  return JSON.stringify({ error: { code, title, detail, hint, errors: fields, excerpt, requestId, exitCode } })
}
