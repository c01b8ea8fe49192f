import { randomUUID } from 'node:crypto'
import type { OperationRecord } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions, projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { planText } from '../../output/plan-text.ts'
import { size } from '../../output/size.ts'

interface CreateFlags extends WaitFlags {
  readonly includeRebuildable?: boolean
  readonly dryRun?: boolean
}

export const defineCreate: Define = (command, context) => {
  command
    .summary('keep a project as it is now; the word can be left out')
    .description(
      'Keep a whole project as it is at one moment: source folder, data, settings and secrets, on the same disk. What runs stops for the copies and runs again.',
    )
    .argument('[project]', projectArgument)
    .argument('[name]', 'what it is for; made of the time when absent')
    .option('--include-rebuildable', 'also folders that can be made again, such as node_modules')
    .option('--dry-run', 'show what is copied, how, and what stops for it, and do nothing')
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
  const client = await context.client()
  const { signal } = context
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(flags.includeRebuildable === true ? { includeRebuildable: true } : {}),
  }
  const input = { params: { id }, body }
  if (flags.dryRun === true) {
    const plan = await client.plan('createCheckpoint', input, { signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }
  // Without `wait` the answer is the operation.
  const operation = (await client.call('createCheckpoint', input, {
    signal,
    idempotencyKey: randomUUID(),
  })) as OperationRecord
  if (flags.wait === false) return takenOn(context, operation)
  await finishOperation(context, operation, flags)
  const { items } = await client.call('listCheckpoints', { params: { id } }, { signal })
  const made = items.find((item) => item.name === (name?.trim() ?? item.name))!
  for (const warning of made.warnings) context.note(`${context.noteStyle.colors.yellow('!')} ${plainText(warning)}`)
  const copied = size(made.parts.reduce((sum, part) => sum + (part.method === 'copy' ? part.bytes : 0), 0))
  context.note(
    `${context.noteStyle.colors.green('✔')} ${size(made.bytes)} in ${made.milliseconds} ms, ${copied} of it copied`,
  )
  context.result(made, () => made.id)
}
