import { randomUUID } from 'node:crypto'
import type { OperationRecord } from '@stackquay/contract'
import type { Context } from '../../../context.ts'
import { onlyDatabase } from '../../../databases/only-database.ts'
import type { Define } from '../../../define.ts'
import { projectRef } from '../../../find-project.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../../finish-operation.ts'
import { addWaitOptions, projectArgument } from '../../../options.ts'
import { planText } from '../../../output/plan-text.ts'
import { size } from '../../../output/size.ts'

interface CreateFlags extends WaitFlags {
  readonly as?: string
  readonly dryRun?: boolean
}

export const defineCreate: Define = (command, context) => {
  command
    .summary('make a snapshot')
    .description('Make a snapshot of a database: a copy of its data on the same disk, in no time where the disk can.')
    .argument('[project]', projectArgument)
    .argument('[name]', 'of the database, or type of a service; not needed when there is one database')
    .option('--as <name>', 'name of the snapshot; made of the time when absent')
    .option('--dry-run', 'show how it is copied and what stops for it, and do nothing')
  addWaitOptions(command).action((project: string | undefined, name: string | undefined, flags: CreateFlags) =>
    run(context(), project, name, flags),
  )
}

async function run(
  context: Context,
  named: string | undefined,
  name: string | undefined,
  flags: CreateFlags,
): Promise<void> {
  const id = await projectRef(context, named)
  const db = name ?? (await onlyDatabase(context, id))
  const client = await context.client()
  const { signal } = context
  const input = { params: { id, db }, body: flags.as === undefined ? {} : { name: flags.as } }
  if (flags.dryRun === true) {
    const plan = await client.plan('createSnapshot', input, { signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }
  // Without `wait` the answer is the operation.
  const operation = (await client.call('createSnapshot', input, {
    signal,
    idempotencyKey: randomUUID(),
  })) as OperationRecord
  if (flags.wait === false) return takenOn(context, operation)
  await finishOperation(context, operation, flags)
  const { items } = await client.call('listSnapshots', { params: { id, db } }, { signal })
  const made = flags.as === undefined ? items[0]! : items.find((item) => item.name === flags.as)!
  const how = made.method === 'copy-on-write' ? 'copy-on-write: it takes no room' : 'copied: the disk shares no blocks'
  context.note(`${context.noteStyle.colors.green('✔')} ${size(made.bytes)} in ${made.milliseconds} ms, ${how}`)
  context.result(made, () => made.name)
}
