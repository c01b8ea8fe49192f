import { randomUUID } from 'node:crypto'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { finishProject, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions, eachOf } from '../../options.ts'
import { planText } from '../../output/plan-text.ts'

interface RestoreAsFlags extends WaitFlags {
  readonly slug?: string
  readonly part?: readonly string[]
  readonly start?: boolean
  readonly dryRun?: boolean
}

export const defineRestoreAs: Define = (command, context) => {
  command
    .summary('make a new project of a backup')
    .description('Make a new project of a backup, also of one whose project is deleted.')
    .argument('<backup>', 'id: see stq backup list --all')
    .argument('<name>', 'what the new project is called')
    .option('--slug <slug>', 'part of its URL; made from the name when absent')
    .option('--part <part>', 'only this: files, database:<name> or service:<name>; can be repeated', eachOf)
    .option('--start', 'start it afterwards')
    .option('--dry-run', 'show the steps and do nothing')
  addWaitOptions(command).action((backup: string, name: string, flags: RestoreAsFlags) =>
    run(context(), backup, name, flags),
  )
}

async function run(context: Context, backup: string, name: string, flags: RestoreAsFlags): Promise<void> {
  const client = await context.client()
  const { signal } = context
  const body = {
    name,
    ...(flags.slug === undefined ? {} : { slug: flags.slug }),
    ...(flags.part === undefined ? {} : { parts: [...flags.part] }),
    ...(flags.start === true ? { start: true } : {}),
  }
  const input = { params: { backup }, body }
  if (flags.dryRun === true) {
    const plan = await client.plan('restoreBackupAs', input, { signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }
  const created = await client.call('restoreBackupAs', input, { signal, idempotencyKey: randomUUID() })
  context.note(`Project ${created.slug} (${created.id})`)
  await finishProject(context, created, flags)
  const project = await client.call('getProject', { params: { id: created.id } }, { signal })
  context.result(project, () => (context.quiet ? project.slug : project.url))
}
