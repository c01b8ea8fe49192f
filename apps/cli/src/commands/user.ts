import type { Define } from '../define.ts'
import { defineCreate } from './user/create.ts'
import { defineDelete } from './user/delete.ts'
import { defineInvite, defineReset } from './user/link.ts'
import { defineList } from './user/list.ts'
import { defineRole } from './user/role.ts'
import { defineDisable, defineEnable } from './user/state.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineCreate(command.command('create'), context)
  defineInvite(command.command('invite'), context)
  defineReset(command.command('reset'), context)
  defineRole(command.command('role'), context)
  defineDisable(command.command('disable'), context)
  defineEnable(command.command('enable'), context)
  defineDelete(command.command('delete'), context)
  command.addHelpText(
    'after',
    `
No token may manage people, so your password is asked for; you must be an administrator of the whole instance. The session ends with the
command. In the page: Settings → Users. When nobody can log in any more: "npm run rescue" on the host of the service.`,
  )
}
