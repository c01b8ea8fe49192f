import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { size } from '../../output/size.ts'
import { confirmByName } from '../../prompt.ts'

export const definePurge: Define = (command, context) =>
  command
    .summary('delete something for good, which frees its disk')
    .description('Delete something in the trash for good. It frees its disk; it cannot be undone.')
    .argument('<item>', 'id: see stq trash list')
    .option('--confirm <name>', 'its name, typed; asked for on a terminal')
    .action((item: string, flags: { readonly confirm?: string }) => run(context(), item, flags))

async function run(context: Context, id: string, flags: { readonly confirm?: string }): Promise<void> {
  const client = await context.client()
  const { items } = await client.call('listTrash', {}, { signal: context.signal })
  const item = items.find((one) => one.id === id)
  if (item === undefined)
    throw new CliError(`There is no "${id}" in the trash.`, {
      exitCode: exitCodes.notFound,
      hint: 'See: stq trash list',
    })
  const { bold, red } = context.noteStyle.colors
  const much = item.sizeBytes === null ? '' : ` (${size(item.sizeBytes)})`
  const warning = `This deletes the ${item.kind} ${bold(item.name)} of ${item.project.slug}${much} ${red('for good')}.`
  await confirmByName(context.world, item.name, flags.confirm, warning)
  const input = { params: { item: id }, query: { confirm: item.name } }
  await client.call('purgeTrash', input, { signal: context.signal })
  noteDone(context, `${item.name} is deleted for good`)
  if (context.json) context.result({ purged: id }, () => '')
}
