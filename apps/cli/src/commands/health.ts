import type { Define } from '../define.ts'
import { defineOff } from './health/off.ts'
import { defineSet } from './health/set.ts'
import { defineShow } from './health/show.ts'
import { defineTry } from './health/try.ts'

export const define: Define = (command, context) => {
  defineShow(command.command('show', { isDefault: true }), context)
  defineSet(command.command('set'), context)
  defineTry(command.command('try'), context)
  defineOff(command.command('off'), context)
}
