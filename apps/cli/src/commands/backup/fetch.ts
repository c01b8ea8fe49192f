import { randomUUID } from 'node:crypto'
import type { OperationRecord } from '@stackquay/contract'
import { isOfInstance } from '../../backups/find-backup.ts'
import { findTarget } from '../../backups/find-target.ts'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions } from '../../options.ts'

export const defineFetch: Define = (command, context) => {
  command
    .summary('bring a backup from a target')
    .description(
      'Bring a backup from a target to this instance. Every part is checked before it counts. It takes scope admin.',
    )
    .argument('<target>', 'id or name: see stq backup target list')
    .argument('<backup>', 'id: see stq backup target backups')
    .addHelpText(
      'after',
      '\nThen: stq backup restore-as <backup> <name>; one of the instance is restored in the page, by an administrator',
    )
  addWaitOptions(command).action((target: string, backup: string, flags: WaitFlags) =>
    run(context(), target, backup, flags),
  )
}

async function run(context: Context, where: string, backup: string, flags: WaitFlags): Promise<void> {
  const { id } = await findTarget(context, where)
  const client = await context.client()
  const operation = (await client.call(
    isOfInstance(backup) ? 'fetchInstanceBackup' : 'fetchBackup',
    { params: { target: id }, body: { backup } },
    { signal: context.signal, idempotencyKey: randomUUID() },
  )) as OperationRecord
  if (flags.wait === false) return takenOn(context, operation)
  await finishOperation(context, operation, flags)
  if (isOfInstance(backup)) {
    noteDone(context, 'The backup of the instance is here')
    return context.result({ id: backup }, () => backup)
  }
  const fetched = await client.call('getAnyBackup', { params: { backup } }, { signal: context.signal })
  noteDone(context, `The backup of ${fetched.project.slug} is here`)
  context.result(fetched, () => fetched.id)
}
