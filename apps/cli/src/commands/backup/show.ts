import { backupText } from '../../backups/backup-text.ts'
import { backupArguments, backupRef, readBackup } from '../../backups/find-backup.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'

export const defineShow: Define = (command, context) =>
  command
    .summary('show a backup: its parts, and what the restore drill found')
    .description('Show a backup: its parts, how they were taken, and what the last restore drill found.')
    .argument('[project]', backupArguments.project)
    .argument('[backup]', backupArguments.backup)
    .action((project: string | undefined, backup: string | undefined) => run(context(), project, backup))

async function run(context: Context, named: string | undefined, id: string | undefined): Promise<void> {
  const backup = await readBackup(context, await backupRef(context, named, id))
  context.result(backup, () => (context.quiet ? backup.id : backupText(backup, context.style, context.world.now())))
}
