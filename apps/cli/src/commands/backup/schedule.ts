import type { Define } from '../../define.ts'
import { defineClear } from './schedule/clear.ts'
import { defineSet } from './schedule/set.ts'
import { defineShow } from './schedule/show.ts'

export const defineSchedule: Define = (command, context) => {
  command.summary('show, set or clear when backups are made by themselves')
  defineShow(command.command('show', { isDefault: true }), context)
  defineSet(command.command('set'), context)
  defineClear(command.command('clear'), context)
}
