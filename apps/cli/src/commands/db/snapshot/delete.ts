import { noteDone } from '../../../change-project.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { confirm } from '../../../prompt.ts'

interface DeleteFlags {
  readonly yes?: boolean
}

export const defineDelete: Define = (command, context) =>
  command
    .summary('delete a snapshot for good')
    .description('Delete a snapshot for good. It cannot be undone.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the database, or type of a service')
    .argument('<snapshot>', 'name or id of the snapshot')
    .option('-y, --yes', 'do not ask')
    .action((project: string, name: string, snapshot: string, flags: DeleteFlags) =>
      run(context(), { id: project, db: name, snapshot }, flags),
    )

async function run(
  context: Context,
  params: { readonly id: string; readonly db: string; readonly snapshot: string },
  flags: DeleteFlags,
): Promise<void> {
  const { id, db, snapshot } = params
  await confirm(context.world, `This deletes the snapshot ${snapshot} of ${db} of ${id} for good.`, flags.yes)
  const client = await context.client()
  await client.call('deleteSnapshot', { params }, { signal: context.signal })
  noteDone(context, `${snapshot} is deleted`)
  if (context.json) context.result({ deleted: snapshot }, () => '')
}
