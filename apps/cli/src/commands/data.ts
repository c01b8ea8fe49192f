import type { Define } from '../define.ts'
import { defineDelete } from './data/delete.ts'
import { defineList } from './data/list.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineDelete(command.command('delete'), context)
}
