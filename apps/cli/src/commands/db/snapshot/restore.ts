import { randomUUID } from 'node:crypto'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../../finish-operation.ts'
import { addWaitOptions } from '../../../options.ts'
import { planText } from '../../../output/plan-text.ts'
import { confirmByName, refuseUnconfirmed } from '../../../prompt.ts'

interface RestoreFlags extends WaitFlags {
  readonly confirm?: string
  readonly dryRun?: boolean
}

export const defineRestore: Define = (command, context) => {
  command
    .summary('put a database back to a snapshot')
    .description('Put a database back to a snapshot. What is replaced becomes a snapshot first.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the database, or type of a service')
    .argument('<snapshot>', 'name or id of the snapshot')
    .option('--confirm <name>', 'the database’s name, typed; asked for on a terminal')
    .option('--dry-run', 'show what is replaced, and do nothing')
  addWaitOptions(command).action((project: string, name: string, snapshot: string, flags: RestoreFlags) =>
    run(context(), { project, db: name, snapshot }, flags),
  )
}

async function run(
  context: Context,
  { project: named, db, snapshot }: { readonly project: string; readonly db: string; readonly snapshot: string },
  flags: RestoreFlags,
): Promise<void> {
  if (flags.dryRun !== true) refuseUnconfirmed(context.world, db, flags.confirm)
  const client = await context.client()
  const { signal } = context
  const { data: project, etag } = await client.callFull('getProject', { params: { id: named } }, { signal })
  const input = { params: { id: project.slug, db, snapshot }, body: { confirm: db } }
  const held = etag === null ? {} : { ifMatch: etag }
  const plan = await client.plan('restoreSnapshot', input, { signal, ...held })
  if (flags.dryRun === true) return context.result(plan, () => planText(plan, context.style.colors))
  context.note(planText(plan, context.noteStyle.colors))
  const { bold, red } = context.noteStyle.colors
  const warning = `This ${red('replaces')} the data of ${bold(db)} of ${project.slug} with that of ${snapshot}.`
  await confirmByName(context.world, db, flags.confirm, warning)
  const operation = await client.call('restoreSnapshot', input, { signal, ...held, idempotencyKey: randomUUID() })
  if (flags.wait === false) return takenOn(context, operation)
  const last = await finishOperation(context, operation, flags)
  context.note(`${context.noteStyle.colors.green('✔')} ${db} is as it was`)
  if (context.json) context.result(last, () => '')
}
