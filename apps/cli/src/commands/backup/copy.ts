import { randomUUID } from 'node:crypto'
import type { OperationRecord } from '@stackquay/contract'
import { backupRef, isOfInstance } from '../../backups/find-backup.ts'
import { findTarget } from '../../backups/find-target.ts'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'

export const defineCopy: Define = (command, context) => {
  command
    .summary('copy a backup to a target')
    .description(
      'Copy a backup to a target, encrypted. Every piece is read back before it counts; a copy that was interrupted goes on where it was. It takes scope admin.',
    )
    .argument('<backup>', 'id, or a project for its newest backup; of the instance: see stq instance backup list')
    .argument('<target>', 'id or name: see stq backup target list')
  addWaitOptions(command).action((backup: string, target: string, flags: WaitFlags) =>
    run(context(), backup, target, flags),
  )
}

async function run(context: Context, named: string, where: string, flags: WaitFlags): Promise<void> {
  const isOwn = isOfInstance(named)
  const backup = isOwn ? named : (await backupRef(context, named, undefined)).backup
  const target = await findTarget(context, where)
  const client = await context.client()
  const operation = (await client.call(
    isOwn ? 'copyInstanceBackup' : 'copyBackup',
    { params: { backup }, body: { target: target.id } },
    { signal: context.signal, idempotencyKey: randomUUID() },
  )) as OperationRecord
  if (flags.wait === false) return takenOn(context, operation)
  await finishOperation(context, operation, flags)
  noteDone(context, `${backup} lies on ${plainText(target.name)}`)
  if (context.json && isOwn) context.result({ id: backup, target: target.id }, () => '')
  else if (context.json)
    context.result(await client.call('getAnyBackup', { params: { backup } }, { signal: context.signal }), () => '')
}
