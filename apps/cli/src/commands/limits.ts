import type { Define } from '../define.ts'
import { defineSet } from './limits/set.ts'
import { defineShow } from './limits/show.ts'

export const define: Define = (command, context) => {
  defineShow(command.command('show', { isDefault: true }), context)
  defineSet(command.command('set'), context)
}
