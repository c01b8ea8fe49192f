import type { Plan } from '@stackquay/contract'
import { memoryText } from './memory-text.ts'
import { fit, plainText } from './plain-text.ts'
import type { Colors } from './style.ts'

/** What becomes different, what is done for it, and what it costs. */
export function planText({ plan }: Plan, colors: Colors): string {
  const lines = plan.changes.map((change) => `  ${changeText(change, colors)}`)
  let printed = ''
  for (const { title, workload, because } of plan.steps) {
    const reason = because.join(', ')
    // Once for all steps of a workload that follow each other.
    const isNew = reason !== '' && `${workload} ${reason}` !== printed
    printed = `${workload} ${reason}`
    lines.push(`  ${colors.cyan('•')} ${plainText(title)}${isNew ? colors.dim(` (${plainText(reason)})`) : ''}`)
  }
  if (plan.restarts.length > 0)
    lines.push(`  ${colors.yellow('!')} restarts ${plan.restarts.map(plainText).join(', ')}`)
  if (plan.steps.length > 0 && plan.keepsRunning.length > 0)
    lines.push(colors.dim(`    keeps running: ${plan.keepsRunning.map(plainText).join(', ')}`))
  if (plan.deletesData.length > 0)
    lines.push(`  ${colors.red('!')} deletes data: ${plan.deletesData.map(plainText).join(', ')}`)
  if (plan.trashUntil !== null)
    lines.push(colors.dim(`    stays in the trash until ${plan.trashUntil.slice(0, 10)}; only --purge frees disk now`))
  for (const warning of plan.warnings) lines.push(`  ${colors.yellow('!')} ${plainText(warning)}`)
  return lines.length === 0 ? 'Nothing to do.' : [colors.bold('Plan'), ...lines].join('\n')
}

function changeText({ field, before, after }: Plan['plan']['changes'][number], colors: Colors): string {
  const name = plainText(field)
  if (before === null) return `${colors.green('+')} ${name}: ${valueText(field, after)}`
  if (after === null) return `${colors.red('-')} ${name}: ${colors.dim(valueText(field, before))}`
  return `${colors.yellow('~')} ${name}: ${valueText(field, before)} → ${valueText(field, after)}`
}

const longest = 60

/** `{version: 8, enabled: true}` is read more easily than its JSON. */
function valueText(field: string, value: unknown): string {
  return fit(plainText(plainValue(field, value)), longest)
}

function plainValue(field: string, value: unknown): string {
  if (typeof value === 'number' && field.endsWith('Bytes')) return memoryText(value)
  if (typeof value === 'string') return value === '' ? '""' : value
  if (Array.isArray(value)) return `[${value.map((item) => plainValue('', item)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = Object.entries(value).map(([key, field]) => `${key}: ${plainValue(key, field)}`)
  return `{${fields.join(', ')}}`
}
