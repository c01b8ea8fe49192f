import type { Context } from '../../context.ts'
import { finishProject, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions } from '../../options.ts'
import { confirmByName } from '../../prompt.ts'
import type { Define } from '../index.ts'

interface DeleteFlags extends WaitFlags {
  readonly confirm?: string
}

export const defineDelete: Define = (command, context) =>
  addWaitOptions(command)
    .summary('drop a database and its data')
    .description('Drop a database and all its data.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the database')
    .option('--confirm <name>', 'the database’s name, typed; asked for on a terminal')
    .action((project: string, name: string, flags: DeleteFlags) => run(context(), project, name, flags))

async function run(context: Context, id: string, name: string, flags: DeleteFlags): Promise<void> {
  const client = await context.client()
  const { bold, red, green } = context.noteStyle.colors
  const warning = `This drops the database ${bold(name)} of ${id} ${red('and all its data')}.`
  await confirmByName(context.world, name, flags.confirm, warning)
  const input = { params: { id, db: name }, query: { confirm: name } }
  const project = await client.call('deleteDatabase', input, { signal: context.signal })
  await finishProject(context, project, flags)
  context.note(`${green('✔')} ${name} is dropped`)
  if (context.json) context.result({ project: project.slug, dropped: name }, () => '')
}
