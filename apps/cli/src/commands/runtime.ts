import type { Define } from '../define.ts'
import { offeredRuntime, offeredRuntimes } from '../offered.ts'
import { defineKindHelp, helpWithSettings } from '../settings/settings-help.ts'
import { defineList } from './runtime/list.ts'
import { defineSet } from './runtime/set.ts'
import { defineShow } from './runtime/show.ts'

export const define: Define = (command, context) => {
  helpWithSettings(command, context, offeredRuntimes)
  defineList(command.command('list', { isDefault: true }), context)
  defineShow(command.command('show'), context)
  defineSet(command.command('set'), context)
  defineKindHelp(command, 'runtime', context, (here, name) => offeredRuntime(here, null, name))
}
