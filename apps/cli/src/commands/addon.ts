import type { Define } from '../define.ts'
import { defineAdd } from './addon/add.ts'
import { defineDisable } from './addon/disable.ts'
import { defineEnable } from './addon/enable.ts'
import { defineList } from './addon/list.ts'
import { defineRemove } from './addon/remove.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineAdd(command.command('add'), context)
  defineRemove(command.command('remove'), context)
  defineEnable(command.command('enable'), context)
  defineDisable(command.command('disable'), context)
}
