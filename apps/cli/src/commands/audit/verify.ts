import type { AuditState } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { exitCodes } from '../../exit-codes.ts'
import { plainText } from '../../output/plain-text.ts'
import type { Colors } from '../../output/style.ts'

export const defineVerify: Define = (command, context) =>
  command
    .summary('check that no entry was changed, removed or added')
    .description(
      'Check the chain of hashes over all entries, and the signed checkpoint: no entry was changed, removed or added.',
    )
    .addHelpText('after', '\nThe exit code is 1 when the log is not as it was written.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const state = await client.call('verifyAudit', {}, { signal: context.signal })
  context.result(state, () => (context.quiet && state.ok ? '' : stateText(state, context.style.colors)))
  if (!state.ok) process.exitCode = exitCodes.failed
}

function stateText({ ok, entries, firstBroken, reason, checkpoint }: AuditState, colors: Colors): string {
  if (ok) {
    const vouched = checkpoint === null ? '' : ` The signed checkpoint vouches up to entry ${checkpoint.seq}.`
    return `${colors.green('✔')} All ${entries} entries are as they were written.${vouched}`
  }
  const place = firstBroken === null ? '' : ` at entry ${firstBroken}`
  return [
    `${colors.red('✖')} The audit log is not as it was written: its chain is broken${place}.`,
    ...(reason === null ? [] : [`  ${plainText(reason)}`]),
    `  ${colors.cyan('→')} Compare with an earlier export or a backup, and find out who had access to the database file.`,
  ].join('\n')
}
