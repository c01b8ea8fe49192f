import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { confirmByName, refuseUnconfirmed } from '../../prompt.ts'
import { addPurgeOption, orTrash, type PurgeFlags, purgeQuery } from '../../purge-option.ts'

interface DeleteFlags extends ChangeFlags, PurgeFlags {
  readonly confirm?: string
}

export const defineDelete: Define = (command, context) =>
  addPurgeOption(addChangeOptions(command))
    .summary('drop a database and its data')
    .description('Drop a database and all its data.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the database')
    .option('--confirm <name>', 'the database’s name, typed; asked for on a terminal')
    .action((project: string, name: string, flags: DeleteFlags) => run(context(), project, name, flags))

async function run(context: Context, id: string, name: string, flags: DeleteFlags): Promise<void> {
  if (flags.dryRun !== true) refuseUnconfirmed(context.world, name, flags.confirm)
  const { bold, red } = context.noteStyle.colors
  const warning = `This drops the database ${bold(name)} of ${id} ${red('and all its data')}${orTrash(flags.purge)}.`
  const input = { params: { id, db: name }, query: { confirm: name, ...purgeQuery(flags.purge) } }
  const project = await changeProject(context, 'deleteDatabase', input, flags, () =>
    confirmByName(context.world, name, flags.confirm, warning),
  )
  if (project === null) return
  noteDone(context, `${name} is dropped`)
  if (context.json) context.result({ project: project.slug, dropped: name }, () => '')
}
