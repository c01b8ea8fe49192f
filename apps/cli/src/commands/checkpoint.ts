import type { Define } from '../define.ts'
import { defineCreate } from './checkpoint/create.ts'
import { defineDelete } from './checkpoint/delete.ts'
import { defineList } from './checkpoint/list.ts'
import { defineRestore } from './checkpoint/restore.ts'

export const define: Define = (command, context) => {
  defineCreate(command.command('create', { isDefault: true }), context)
  defineList(command.command('list'), context)
  defineRestore(command.command('restore'), context)
  defineDelete(command.command('delete'), context)
}
