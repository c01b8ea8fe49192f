import type { Define } from '../../define.ts'
import { defineDisable as defineServiceDisable } from '../service/disable.ts'

/** An addon is a service, so it is switched off like one. */
export const defineDisable: Define = (command, context) => {
  defineServiceDisable(command, context)
  command.summary('switch an addon of a project off; its data is kept')
}
