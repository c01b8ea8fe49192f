import type { Define } from '../define.ts'
import { defineCreate } from './share/create.ts'
import { defineEnd } from './share/end.ts'
import { defineShow } from './share/show.ts'
import { defineViewers } from './share/viewers.ts'

export const define: Define = (command, context) => {
  command.addHelpText('after', '\nThe options of "stq share [project]" are those of: stq share create --help')
  defineCreate(command.command('create', { isDefault: true }), context)
  defineShow(command.command('show'), context)
  defineViewers(command.command('viewers'), context)
  defineEnd(command.command('end'), context)
}
