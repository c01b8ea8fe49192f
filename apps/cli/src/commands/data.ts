import { defineDelete } from './data/delete.ts'
import { defineList } from './data/list.ts'
import type { Define } from './index.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineDelete(command.command('delete'), context)
}
