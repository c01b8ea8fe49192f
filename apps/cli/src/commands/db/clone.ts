import { randomUUID } from 'node:crypto'
import type { OperationRecord } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions } from '../../options.ts'
import { planText } from '../../output/plan-text.ts'

interface CloneFlags extends WaitFlags {
  readonly snapshot?: string
  readonly dryRun?: boolean
}

export const defineClone: Define = (command, context) => {
  command
    .summary('add a database with a copy of the data of another')
    .description('Add a database with a copy of the data of another: of the same type and version.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the database that is copied')
    .argument('<new-name>', 'of the new one')
    .option('--snapshot <snapshot>', 'of this snapshot instead of the database as it is now')
    .option('--dry-run', 'show how it is copied and what stops for it, and do nothing')
  addWaitOptions(command).action((project: string, name: string, newName: string, flags: CloneFlags) =>
    run(context(), { project, db: name, newName }, flags),
  )
}

async function run(
  context: Context,
  { project: id, db, newName }: { readonly project: string; readonly db: string; readonly newName: string },
  flags: CloneFlags,
): Promise<void> {
  const client = await context.client()
  const { signal } = context
  const body = { name: newName, ...(flags.snapshot === undefined ? {} : { snapshot: flags.snapshot }) }
  const input = { params: { id, db }, body }
  if (flags.dryRun === true) {
    const plan = await client.plan('cloneDatabase', input, { signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }
  // Without `wait` the answer is the operation.
  const operation = (await client.call('cloneDatabase', input, {
    signal,
    idempotencyKey: randomUUID(),
  })) as OperationRecord
  if (flags.wait === false) return takenOn(context, operation)
  const last = await finishOperation(context, operation, flags)
  context.note(`${context.noteStyle.colors.green('✔')} ${newName} is a copy of ${db}`)
  if (context.json) context.result(last, () => '')
}
