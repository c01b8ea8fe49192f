import { randomUUID } from 'node:crypto'
import { findCheckpoint } from '../../checkpoints/find-checkpoint.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { planText } from '../../output/plan-text.ts'
import { confirmByName, refuseUnconfirmed } from '../../prompt.ts'

interface RestoreFlags extends WaitFlags {
  readonly confirm?: string
  readonly leaveOutTaken?: boolean
  readonly dryRun?: boolean
}

export const defineRestore: Define = (command, context) => {
  command
    .summary('put a project back to a checkpoint')
    .description(
      'Put a whole project back to a checkpoint: source folder, data, settings and secrets. What is there now becomes a checkpoint first.',
    )
    .argument('<project>', 'id or slug')
    .argument('<checkpoint>', 'id or name of the checkpoint')
    .option('--confirm <slug>', 'the project’s slug, typed; asked for on a terminal')
    .option('--leave-out-taken', 'without host names and ports that others have by now')
    .option('--dry-run', 'show what is replaced, and do nothing')
  addWaitOptions(command).action((project: string, checkpoint: string, flags: RestoreFlags) =>
    run(context(), project, checkpoint, flags),
  )
}

async function run(context: Context, named: string, wanted: string, flags: RestoreFlags): Promise<void> {
  const client = await context.client()
  const { signal } = context
  const { data: project, etag } = await client.callFull('getProject', { params: { id: named } }, { signal })
  const { slug } = project
  if (flags.dryRun !== true) refuseUnconfirmed(context.world, slug, flags.confirm)
  const { id: checkpoint, name } = await findCheckpoint(context, slug, wanted)
  const body = { confirm: slug, ...(flags.leaveOutTaken === true ? { leaveOutTaken: true } : {}) }
  const input = { params: { id: slug, checkpoint }, body }
  const held = etag === null ? {} : { ifMatch: etag }
  const plan = await client.plan('restoreCheckpoint', input, { signal, ...held })
  if (flags.dryRun === true) return context.result(plan, () => planText(plan, context.style.colors))
  context.note(planText(plan, context.noteStyle.colors))
  const { bold, red } = context.noteStyle.colors
  const warning = `This ${red('replaces')} files, data, settings and secrets of ${bold(slug)} with those of "${plainText(name)}".`
  await confirmByName(context.world, slug, flags.confirm, warning)
  const operation = await client.call('restoreCheckpoint', input, { signal, ...held, idempotencyKey: randomUUID() })
  if (flags.wait === false) return takenOn(context, operation)
  const last = await finishOperation(context, operation, flags)
  context.note(`${context.noteStyle.colors.green('✔')} ${slug} is as it was`)
  if (context.json) context.result(last, () => '')
}
