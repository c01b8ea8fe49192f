import type { Define } from '../define.ts'
import { defineAdd } from './ssh-key/add.ts'
import { defineList } from './ssh-key/list.ts'
import { defineRemove } from './ssh-key/remove.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineAdd(command.command('add'), context)
  defineRemove(command.command('remove'), context)
  command.addHelpText(
    'after',
    `
A key logs in with all of your rights until it is removed, so no token may add, list or remove one: your password is asked for.
The session ends with the command. In the page: Settings → SSH keys.`,
  )
}
