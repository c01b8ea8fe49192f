import type { Define } from '../define.ts'
import { defineList } from './trash/list.ts'
import { definePurge } from './trash/purge.ts'
import { defineRestore } from './trash/restore.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineRestore(command.command('restore'), context)
  definePurge(command.command('purge'), context)
}
