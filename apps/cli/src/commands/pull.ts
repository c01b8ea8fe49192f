import { randomUUID } from 'node:crypto'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { usageError } from '../errors.ts'
import { finishOperation, takenOn, type WaitFlags } from '../finish-operation.ts'
import { addWaitOptions } from '../options.ts'
import { planText } from '../output/plan-text.ts'
import { confirmByName, refuseUnconfirmed } from '../prompt.ts'

interface PullFlags extends WaitFlags {
  readonly only?: readonly string[]
  readonly confirm?: string
  readonly dryRun?: boolean
}

export const define: Define = (command, context) => {
  command
    .summary('fetch databases and files from a source of the settings')
    .description(
      'Fetch databases and files from a source that the settings describe under "pull": over SSH, from S3 or from another Stackquay. What is replaced is kept. Nothing is ever written to the source.',
    )
    .argument('<project>', 'id or slug')
    .argument('<source>', 'its name in the settings')
    .option('--only <part...>', 'only these parts: db:main, files:storage/app')
    .option('--confirm <slug>', 'the project’s slug, typed; asked for on a terminal')
    .option('--dry-run', 'show what is fetched and replaced, and do nothing')
    .addHelpText('after', '\nstq pull shop production --dry-run\nstq pull shop production --only db:main')
  addWaitOptions(command).action((project: string, source: string, flags: PullFlags) =>
    run(context(), project, source, flags),
  )
}

async function run(context: Context, named: string, source: string, flags: PullFlags): Promise<void> {
  const parts = flags.only?.map(partOf)
  const client = await context.client()
  const { signal } = context
  const { data: project, etag } = await client.callFull('getProject', { params: { id: named } }, { signal })
  const { slug } = project
  if (flags.dryRun !== true) refuseUnconfirmed(context.world, slug, flags.confirm)
  const input = { params: { id: slug }, body: { source, confirm: slug, ...(parts === undefined ? {} : { parts }) } }
  const held = etag === null ? {} : { ifMatch: etag }
  const plan = await client.plan('pullProject', input, { signal, ...held })
  if (flags.dryRun === true) return context.result(plan, () => planText(plan, context.style.colors))
  context.note(planText(plan, context.noteStyle.colors))
  const { bold, red } = context.noteStyle.colors
  const warning = `This ${red('replaces')} data of ${bold(slug)} with what ${source} has. What is there is kept.`
  await confirmByName(context.world, slug, flags.confirm, warning)
  const operation = await client.call('pullProject', input, { signal, ...held, idempotencyKey: randomUUID() })
  if (flags.wait === false) return takenOn(context, operation)
  const last = await finishOperation(context, operation, flags)
  context.note(`${context.noteStyle.colors.green('✔')} ${slug} has what ${source} has`)
  if (context.json) context.result(last, () => '')
}

/** `db:` is short for `database:`. */
function partOf(text: string): string {
  const part = text.replace(/^db:/, 'database:')
  if (/^(database|files):./.test(part)) return part
  throw usageError(`"${text}" is no part.`, 'Name parts like db:main or files:storage/app.')
}
