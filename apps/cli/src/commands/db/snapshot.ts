import type { Define } from '../../define.ts'
import { defineCreate } from './snapshot/create.ts'
import { defineDelete } from './snapshot/delete.ts'
import { defineList } from './snapshot/list.ts'
import { defineRestore } from './snapshot/restore.ts'

export const defineSnapshot: Define = (command, context) => {
  command.summary('make, list, restore and delete snapshots of a database')
  defineList(command.command('list', { isDefault: true }), context)
  defineCreate(command.command('create'), context)
  defineRestore(command.command('restore'), context)
  defineDelete(command.command('rm').alias('delete'), context)
}
