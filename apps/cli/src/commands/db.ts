import { defineCreate } from './db/create.ts'
import { defineCredentials } from './db/credentials.ts'
import { defineDelete } from './db/delete.ts'
import { defineList } from './db/list.ts'
import type { Define } from './index.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineCreate(command.command('create'), context)
  defineCredentials(command.command('credentials'), context)
  defineDelete(command.command('delete'), context)
}
