import type { Define } from '../../define.ts'
import { defineEnable as defineServiceEnable } from '../service/enable.ts'

/** An addon is a service, so it is enabled like one. */
export const defineEnable: Define = (command, context) => {
  defineServiceEnable(command, context)
  command.summary('add an addon to a project, or switch it on again')
}
