import type { Define } from '../define.ts'
import { defineAcme } from './tls/acme.ts'
import { defineAdd } from './tls/add.ts'
import { defineList } from './tls/list.ts'
import { defineLocal } from './tls/local.ts'
import { defineRemove } from './tls/remove.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineAdd(command.command('add'), context)
  defineRemove(command.command('remove'), context)
  defineLocal(command.command('local'), context)
  defineAcme(command.command('acme'), context)
}
