import { randomUUID } from 'node:crypto'
import type { OperationRecord } from '@stackquay/contract'
import { readBackup } from '../../backups/find-backup.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions, eachOf, projectArgument } from '../../options.ts'
import { planText } from '../../output/plan-text.ts'
import { size } from '../../output/size.ts'

interface CreateFlags extends WaitFlags {
  readonly note?: string
  readonly part?: readonly string[]
  readonly includeRebuildable?: boolean
  readonly dryRun?: boolean
}

export const defineCreate: Define = (command, context) => {
  command
    .summary('make a backup')
    .description('Make a backup of a project: settings with secrets, files, databases and services.')
    .argument('[project]', projectArgument)
    .option('--note <text>', 'what it is for')
    .option('--part <part>', 'only this: settings, files, database:<name> or service:<name>; can be repeated', eachOf)
    .option('--include-rebuildable', 'also folders that can be made again, such as node_modules')
    .option('--dry-run', 'show the steps, and which workloads stop for it, and do nothing')
  addWaitOptions(command).action((project: string | undefined, flags: CreateFlags) => run(context(), project, flags))
}

async function run(context: Context, named: string | undefined, flags: CreateFlags): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const body = {
    ...(flags.note === undefined ? {} : { note: flags.note }),
    ...(flags.part === undefined ? {} : { parts: [...flags.part] }),
    ...(flags.includeRebuildable === true ? { includeRebuildable: true } : {}),
  }
  const input = { params: { id }, body }
  if (flags.dryRun === true) {
    const plan = await client.plan('createBackup', input, { signal: context.signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }
  // Without `wait` the answer is the operation.
  const operation = (await client.call('createBackup', input, {
    signal: context.signal,
    idempotencyKey: randomUUID(),
  })) as OperationRecord
  if (flags.wait === false) return takenOn(context, operation)
  await finishOperation(context, operation, flags)
  const { items } = await client.call(
    'listBackups',
    { params: { id }, query: { limit: 1 } },
    { signal: context.signal },
  )
  const backup = await readBackup(context, { project: id, backup: items[0]!.id })
  context.note(`${context.noteStyle.colors.green('✔')} ${size(backup.sizeBytes)} in ${backup.parts.length} parts`)
  context.result(backup, () => backup.id)
}
