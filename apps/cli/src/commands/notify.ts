import type { Define } from '../define.ts'
import { defineAdd } from './notify/add.ts'
import { defineList } from './notify/list.ts'
import { defineLog } from './notify/log.ts'
import { defineRemove } from './notify/remove.ts'
import { defineTest } from './notify/test.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineAdd(command.command('add'), context)
  defineTest(command.command('test'), context)
  defineLog(command.command('log'), context)
  defineRemove(command.command('remove'), context)
}
