import { backupRef, readBackup } from '../../backups/find-backup.ts'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { size } from '../../output/size.ts'
import { confirm } from '../../prompt.ts'

interface DeleteFlags {
  readonly yes?: boolean
}

export const defineDelete: Define = (command, context) =>
  command
    .summary('delete a backup for good')
    .description('Delete a backup for good. It cannot be undone.')
    .argument('<project>', 'id or slug; or the id of the backup alone, which takes scope admin')
    .argument('[backup]', 'id of the backup')
    .option('-y, --yes', 'do not ask')
    .action((project: string, backup: string | undefined, flags: DeleteFlags) => run(context(), project, backup, flags))

async function run(context: Context, named: string, id: string | undefined, flags: DeleteFlags): Promise<void> {
  const ref = await backupRef(context, named, id)
  const backup = await readBackup(context, ref)
  const warning = `This deletes the backup ${backup.id} of ${backup.project.slug} (${size(backup.sizeBytes)}) for good.`
  await confirm(context.world, warning, flags.yes)
  const client = await context.client()
  const { signal } = context
  if (ref.project === null) await client.call('deleteAnyBackup', { params: { backup: ref.backup } }, { signal })
  else await client.call('deleteBackup', { params: { id: ref.project, backup: ref.backup } }, { signal })
  noteDone(context, `${backup.id} is deleted`)
  if (context.json) context.result({ deleted: backup.id }, () => '')
}
