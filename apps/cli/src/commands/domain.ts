import type { Define } from '../define.ts'
import { defineAdd } from './domain/add.ts'
import { defineList } from './domain/list.ts'
import { defineRemove } from './domain/remove.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineAdd(command.command('add'), context)
  defineRemove(command.command('remove'), context)
}
