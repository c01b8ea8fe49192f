import { randomUUID } from 'node:crypto'
import type { Context } from '../../context.ts'
import { onlyDatabase } from '../../databases/only-database.ts'
import type { Define } from '../../define.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions } from '../../options.ts'
import { planText } from '../../output/plan-text.ts'
import { confirmByName, refuseUnconfirmed } from '../../prompt.ts'

interface ResetFlags extends WaitFlags {
  readonly confirm?: string
  readonly dryRun?: boolean
}

export const defineReset: Define = (command, context) => {
  command
    .summary('empty a database and fill it from its seed')
    .description('Empty a database and fill it from its seed. What was there becomes a snapshot first.')
    .argument('<project>', 'id or slug')
    .argument('[name]', 'of the database; not needed when there is one')
    .option('--confirm <name>', 'the database’s name, typed; asked for on a terminal')
    .option('--dry-run', 'show what is emptied and read, and do nothing')
  addWaitOptions(command).action((project: string, name: string | undefined, flags: ResetFlags) =>
    run(context(), project, name, flags),
  )
}

async function run(context: Context, named: string, name: string | undefined, flags: ResetFlags): Promise<void> {
  const db = name ?? (await onlyDatabase(context, named))
  if (flags.dryRun !== true) refuseUnconfirmed(context.world, db, flags.confirm)
  const client = await context.client()
  const { signal } = context
  const { data: project, etag } = await client.callFull('getProject', { params: { id: named } }, { signal })
  const input = { params: { id: project.slug, db }, body: { confirm: db } }
  const held = etag === null ? {} : { ifMatch: etag }
  const plan = await client.plan('resetDatabase', input, { signal, ...held })
  if (flags.dryRun === true) return context.result(plan, () => planText(plan, context.style.colors))
  context.note(planText(plan, context.noteStyle.colors))
  const { bold, red } = context.noteStyle.colors
  const warning = `This ${red('empties')} the database ${bold(db)} of ${project.slug}. What is there becomes a snapshot.`
  await confirmByName(context.world, db, flags.confirm, warning)
  const operation = await client.call('resetDatabase', input, { signal, ...held, idempotencyKey: randomUUID() })
  if (flags.wait === false) return takenOn(context, operation)
  const last = await finishOperation(context, operation, flags)
  context.note(`${context.noteStyle.colors.green('✔')} ${db} of ${project.slug} begins anew`)
  if (context.json) context.result(last, () => '')
}
