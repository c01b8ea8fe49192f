import type { Define } from '../define.ts'
import { defineGet } from './env/get.ts'
import { defineList } from './env/list.ts'
import { defineSet } from './env/set.ts'
import { defineUnset } from './env/unset.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineGet(command.command('get'), context)
  defineSet(command.command('set'), context)
  defineUnset(command.command('unset'), context)
}
