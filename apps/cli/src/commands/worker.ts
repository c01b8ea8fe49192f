import type { Define } from '../define.ts'
import { defineList } from './worker/list.ts'
import { defineRemove } from './worker/remove.ts'
import { defineSet } from './worker/set.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineSet(command.command('set'), context)
  defineRemove(command.command('remove'), context)
}
