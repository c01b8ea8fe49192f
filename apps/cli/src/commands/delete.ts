import { ApiError } from '@stackquay/client'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { usageError } from '../errors.ts'
import { finishOperation, takenOn, type WaitFlags } from '../finish-operation.ts'
import { addWaitOptions } from '../options.ts'
import { planText } from '../output/plan-text.ts'
import { confirmByName } from '../prompt.ts'
import { purgeQuery } from '../purge-option.ts'

interface DeleteFlags extends WaitFlags {
  readonly confirm?: string
  readonly data: string
  readonly purge?: boolean
  readonly dryRun?: boolean
}

export const define: Define = (command, context) => {
  command
    .argument('<project>', 'id or slug')
    .option('--confirm <slug>', 'the project’s slug, typed; asked for on a terminal')
    .option('--data <keep|delete>', '"delete" also deletes its databases and kept data', 'keep')
    .option('--purge', 'delete at once, past the trash: only that frees disk now')
    .option('--dry-run', 'show the steps and what would be lost, and do nothing')
  addWaitOptions(command)
    .addHelpText('after', '\nThe source files stay in any case. It can be brought back for a time: stq trash')
    .action((project: string, flags: DeleteFlags) => run(context(), project, flags))
}

async function run(context: Context, id: string, flags: DeleteFlags): Promise<void> {
  const { data, purge } = flags
  if (data !== 'keep' && data !== 'delete') throw usageError(`--data is "keep" or "delete", and not "${data}".`)
  const client = await context.client()
  const { colors } = context.noteStyle
  if (flags.dryRun === true) {
    const input = { params: { id }, query: { data, ...purgeQuery(purge) } } as const
    const plan = await client.plan('deleteProject', input, { signal: context.signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }

  const project = await client.call('getProject', { params: { id } }, { signal: context.signal })
  const lost =
    data === 'delete'
      ? `${colors.red('and all its data')}; only its source files stay${purge === true ? '' : ', and all else lies in the trash for a time'}`
      : 'and keeps its data and source files'
  await confirmByName(
    context.world,
    project.slug,
    flags.confirm,
    `This deletes the project ${colors.bold(project.slug)} ${lost}.`,
  )

  const query = { confirm: project.slug, data, ...purgeQuery(purge) } as const
  const operation = await client.call(
    'deleteProject',
    { params: { id: project.id }, query },
    { signal: context.signal },
  )
  if (flags.wait === false) return takenOn(context, operation)
  await finishOperation(context, operation, flags).catch((error) => unlessGone(context, project.id, error))
  context.note(`${colors.green('✔')} ${project.slug} is deleted`)
  if (context.json) context.result({ id: project.id, slug: project.slug, deleted: true, data }, () => '')
}

/** The record of the operation may go with its project; that the project is gone is what was wanted. */
async function unlessGone(context: Context, id: string, error: unknown): Promise<void> {
  const isGone = (reason: unknown) => reason instanceof ApiError && reason.status === 404
  if (!isGone(error)) throw error
  const client = await context.client()
  const still = await client.call('getProject', { params: { id } }, { signal: context.signal }).then(
    () => true,
    (reason: unknown) => !isGone(reason),
  )
  if (still) throw error
}
