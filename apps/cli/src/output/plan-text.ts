import type { Plan } from '@stackquay/contract'
import { plainText } from './plain-text.ts'
import type { Colors } from './style.ts'

export function planText({ plan }: Plan, colors: Colors): string {
  const lines = plan.steps.map((step) => {
    const because = step.because.length === 0 ? '' : colors.dim(` (${plainText(step.because.join(', '))})`)
    return `  ${colors.cyan('•')} ${plainText(step.title)}${because}`
  })
  if (plan.restarts.length > 0)
    lines.push(`  ${colors.yellow('!')} restarts ${plan.restarts.map(plainText).join(', ')}`)
  if (plan.deletesData.length > 0)
    lines.push(`  ${colors.red('!')} deletes data: ${plan.deletesData.map(plainText).join(', ')}`)
  for (const warning of plan.warnings) lines.push(`  ${colors.yellow('!')} ${plainText(warning)}`)
  return lines.length === 0 ? 'Nothing to do.' : [colors.bold('Plan'), ...lines].join('\n')
}
