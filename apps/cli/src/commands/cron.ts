import type { Define } from '../define.ts'
import { defineList } from './cron/list.ts'
import { definePreview } from './cron/preview.ts'
import { defineRemove } from './cron/remove.ts'
import { defineRun } from './cron/run.ts'
import { defineSet } from './cron/set.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineSet(command.command('set'), context)
  defineRun(command.command('run'), context)
  definePreview(command.command('preview'), context)
  defineRemove(command.command('remove'), context)
}
