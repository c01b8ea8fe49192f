import type { Define } from '../define.ts'
import { defineOff } from './maintenance/off.ts'
import { defineOn } from './maintenance/on.ts'

export const define: Define = (command, context) => {
  defineOn(command.command('on'), context)
  defineOff(command.command('off'), context)
}
