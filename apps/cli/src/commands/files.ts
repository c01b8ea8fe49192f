import type { Define } from '../define.ts'
import { defineDelete } from './files/delete.ts'
import { defineGet } from './files/get.ts'
import { defineList } from './files/list.ts'
import { definePut } from './files/put.ts'
import { defineRestore } from './files/restore.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }).alias('ls'), context)
  defineGet(command.command('get'), context)
  definePut(command.command('put'), context)
  defineDelete(command.command('delete').alias('rm'), context)
  defineRestore(command.command('restore'), context)
}
