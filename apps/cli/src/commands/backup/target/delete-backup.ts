import { randomUUID } from 'node:crypto'
import type { OperationRecord } from '@stackquay/contract'
import { findTarget } from '../../../backups/find-target.ts'
import { noteDone } from '../../../change-project.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../../finish-operation.ts'
import { addWaitOptions } from '../../../options.ts'
import { plainText } from '../../../output/plain-text.ts'
import { confirm } from '../../../prompt.ts'

interface Flags extends WaitFlags {
  readonly yes?: boolean
}

export const defineDeleteBackup: Define = (command, context) => {
  command
    .summary('delete a copy on a backup target for good')
    .description('Delete a copy on a target for good, also one of another instance. The backup here stays.')
    .argument('<target>', 'id or name')
    .argument('<backup>', 'id: see stq backup target backups')
    .option('-y, --yes', 'do not ask')
  addWaitOptions(command).action((target: string, backup: string, flags: Flags) =>
    run(context(), target, backup, flags),
  )
}

async function run(context: Context, named: string, backup: string, flags: Flags): Promise<void> {
  const { id, name } = await findTarget(context, named)
  const shown = plainText(name)
  await confirm(context.world, `This deletes the copy of ${plainText(backup)} on ${shown} for good.`, flags.yes)
  const client = await context.client()
  const operation = (await client.call(
    'deleteTargetBackup',
    { params: { target: id, backup }, query: { confirm: backup } },
    { signal: context.signal, idempotencyKey: randomUUID() },
  )) as OperationRecord
  if (flags.wait === false) return takenOn(context, operation)
  await finishOperation(context, operation, flags)
  noteDone(context, `The copy on ${shown} is deleted`)
  if (context.json) context.result({ deleted: backup }, () => '')
}
