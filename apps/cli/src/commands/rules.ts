import type { Define } from '../define.ts'
import { defineClear } from './rules/clear.ts'
import { defineSet } from './rules/set.ts'
import { defineShow } from './rules/show.ts'

export const define: Define = (command, context) => {
  defineShow(command.command('show', { isDefault: true }), context)
  defineSet(command.command('set'), context)
  defineClear(command.command('clear'), context)
}
