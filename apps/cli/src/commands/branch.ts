import type { Define } from '../define.ts'
import { defineCreate } from './branch/create.ts'
import { defineDelete } from './branch/delete.ts'
import { defineList } from './branch/list.ts'
import { defineOpen } from './branch/open.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineCreate(command.command('create'), context)
  defineOpen(command.command('open'), context)
  defineDelete(command.command('delete'), context)
}
