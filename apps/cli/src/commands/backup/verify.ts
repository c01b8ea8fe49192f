import { randomUUID } from 'node:crypto'
import type { OperationRecord } from '@stackquay/contract'
import { backupText } from '../../backups/backup-text.ts'
import { backupArguments, backupRef, readBackup } from '../../backups/find-backup.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError, usageError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions } from '../../options.ts'

export const defineVerify: Define = (command, context) => {
  command
    .summary('restore a backup into a test environment and look whether it is whole')
    .description(
      'Restore a backup into a test environment and look whether it is whole. Nothing of the project is touched. ' +
        'Exit code 1 when something is missing or damaged.',
    )
    .argument('[project]', backupArguments.project)
    .argument('[backup]', 'id, or "latest" (default)')
  addWaitOptions(command).action((project: string | undefined, backup: string | undefined, flags: WaitFlags) =>
    run(context(), project, backup, flags),
  )
}

async function run(
  context: Context,
  named: string | undefined,
  id: string | undefined,
  flags: WaitFlags,
): Promise<void> {
  const ref = await backupRef(context, named, id)
  if (ref.project === null) throw usageError('Which project?', `stq backup verify <project> ${ref.backup}`)
  const client = await context.client()
  const params = { id: ref.project, backup: ref.backup }
  const operation = (await client.call(
    'verifyBackup',
    { params },
    { signal: context.signal, idempotencyKey: randomUUID() },
  )) as OperationRecord
  if (flags.wait === false) return takenOn(context, operation)
  await finishOperation(context, operation, flags)
  const backup = await readBackup(context, ref)
  context.result(backup, () => (context.quiet ? '' : backupText(backup, context.style, context.world.now())))
  if (backup.verified?.outcome === 'whole') return
  throw new CliError(`The backup ${backup.id} is not shown to be whole.`, {
    exitCode: exitCodes.failed,
    hint: 'Make a new one, and keep this one until that is verified.',
  })
}
