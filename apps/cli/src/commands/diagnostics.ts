import type { DiagnosticCheck, EngineState } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { exitCodes } from '../exit-codes.ts'
import { plainText } from '../output/plain-text.ts'
import { size } from '../output/size.ts'
import { stateCell } from '../output/state.ts'
import type { Colors } from '../output/style.ts'

export const define: Define = (command, context) =>
  command
    .addHelpText(
      'after',
      '\nThe exit code is 1 when a check found an error. With --quiet only warnings and errors are shown.',
    )
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const diagnostics = await client.call('getDiagnostics', {}, { signal: context.signal })
  context.result(diagnostics, () => {
    const checks = diagnostics.checks.filter(
      ({ status }) => !context.quiet || status === 'warning' || status === 'error',
    )
    return [
      ...checks.map((check) => checkText(check, context.style.colors)),
      ...(context.quiet ? [] : diagnostics.engines.flatMap(usageText)),
    ].join('\n')
  })
  if (diagnostics.status === 'error') process.exitCode = exitCodes.failed
}

/** What of this service is on an engine that tells. */
function usageText({ id, projects, usage }: EngineState): string[] {
  if (usage.length === 0) return []
  const parts = usage.map(
    ({ what, count, sizeBytes }) => `${count} ${what}${sizeBytes === null ? '' : ` (${size(sizeBytes)})`}`,
  )
  return [`  ${plainText(id)}: ${projects} ${projects === 1 ? 'project' : 'projects'}, ${parts.join(', ')}`]
}

function checkText({ title, status, detail, hint, fix }: DiagnosticCheck, colors: Colors): string {
  const shape = stateCell(status, colors).text.split(' ')[0]!
  const sign = stateCell(status, colors).paint?.(shape) ?? shape
  const lines = [`${sign} ${colors.bold(plainText(title))}: ${plainText(detail)}`]
  if (status !== 'ok' && hint !== null) lines.push(`  ${colors.cyan('→')} ${plainText(hint)}`)
  if (status !== 'ok' && fix !== null) lines.push(`    ${plainText(fix)}`)
  return lines.join('\n')
}
