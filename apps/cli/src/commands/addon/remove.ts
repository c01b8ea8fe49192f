import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { advise } from '../../errors.ts'
import { confirm } from '../../prompt.ts'

export const defineRemove: Define = (command, context) =>
  command
    .argument('<addon>', 'see: stq addon list')
    .summary('take an addon from the instance')
    .description('Take an addon from the instance. Refused while a project uses it or keeps data of it.')
    .option('-y, --yes', 'do not ask')
    .action((addon: string, flags: { yes?: boolean }) => run(context(), addon, flags))

async function run(context: Context, name: string, { yes }: { yes?: boolean }): Promise<void> {
  const client = await context.client()
  await confirm(context.world, `This takes the addon "${name}" from the instance.`, yes)
  await client
    .call('deleteAddon', { params: { name } }, { signal: context.signal })
    .catch(advise('not_found', 'See: stq addon list'))
  noteDone(context, `${name} is removed`)
  if (context.json) context.result({ removed: name }, () => '')
}
