import type { Define } from '../../define.ts'
import { defineAdd } from './target/add.ts'
import { defineBackups } from './target/backups.ts'
import { defineCheck } from './target/check.ts'
import { defineDeleteBackup } from './target/delete-backup.ts'
import { defineList } from './target/list.ts'
import { defineRemove } from './target/remove.ts'

export const defineTarget: Define = (command, context) => {
  command
    .summary('where backups are copied to')
    .description('Folders, buckets and machines that backups are copied to.')
  defineList(command.command('list', { isDefault: true }), context)
  defineAdd(command.command('add'), context)
  defineCheck(command.command('check'), context)
  defineBackups(command.command('backups'), context)
  defineDeleteBackup(command.command('delete-backup'), context)
  defineRemove(command.command('remove'), context)
}
