import { randomUUID } from 'node:crypto'
import { backupRef } from '../../backups/find-backup.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions, eachOf } from '../../options.ts'
import { planText } from '../../output/plan-text.ts'
import { confirmByName, refuseUnconfirmed } from '../../prompt.ts'

interface RestoreFlags extends WaitFlags {
  readonly part?: readonly string[]
  readonly confirm?: string
  readonly dryRun?: boolean
}

export const defineRestore: Define = (command, context) => {
  command
    .summary('put a project back to what a backup holds')
    .description(
      'Put a project, or some parts of it, back to what a backup holds. A backup of what is replaced is made first.',
    )
    .argument('<project>', 'id or slug')
    .argument('[backup]', 'id, or "latest" (default)')
    .option(
      '--part <part>',
      'only this: files, database:<name>, service:<name>, or settings, which are left as they are unless named; can be repeated',
      eachOf,
    )
    .option('--confirm <slug>', 'the project’s slug, typed; asked for on a terminal')
    .option('--dry-run', 'show what is replaced, and do nothing')
  addWaitOptions(command).action((project: string, backup: string | undefined, flags: RestoreFlags) =>
    run(context(), project, backup ?? 'latest', flags),
  )
}

async function run(context: Context, named: string, wanted: string, flags: RestoreFlags): Promise<void> {
  const client = await context.client()
  const { signal } = context
  const { data: project, etag } = await client.callFull('getProject', { params: { id: named } }, { signal })
  const { slug } = project
  if (flags.dryRun !== true) refuseUnconfirmed(context.world, slug, flags.confirm)
  const { backup } = await backupRef(context, slug, wanted)
  const body = { confirm: slug, ...(flags.part === undefined ? {} : { parts: [...flags.part] }) }
  const input = { params: { id: slug, backup }, body }
  const held = etag === null ? {} : { ifMatch: etag }
  const plan = await client.plan('restoreBackup', input, { signal, ...held })
  if (flags.dryRun === true) return context.result(plan, () => planText(plan, context.style.colors))
  context.note(planText(plan, context.noteStyle.colors))
  const { bold, red } = context.noteStyle.colors
  const warning = `This ${red('replaces')} what ${bold(slug)} has now with what ${backup} holds.`
  await confirmByName(context.world, slug, flags.confirm, warning)
  const operation = await client.call('restoreBackup', input, { signal, ...held, idempotencyKey: randomUUID() })
  if (flags.wait === false) return takenOn(context, operation)
  const last = await finishOperation(context, operation, flags)
  context.note(`${context.noteStyle.colors.green('✔')} ${slug} is restored`)
  if (context.json) context.result(last, () => '')
}
