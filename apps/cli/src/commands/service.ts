import type { Define } from '../define.ts'
import { offeredServices, typeNamed } from '../offered.ts'
import { defineKindHelp, helpWithSettings } from '../settings/settings-help.ts'
import { defineCredentials } from './service/credentials.ts'
import { defineDisable } from './service/disable.ts'
import { defineEnable } from './service/enable.ts'
import { defineList } from './service/list.ts'
import { defineOpen } from './service/open.ts'
import { defineRotate } from './service/rotate.ts'
import { defineSet } from './service/set.ts'
import { defineShow } from './service/show.ts'

export const define: Define = (command, context) => {
  helpWithSettings(command, context, offeredServices)
  defineList(command.command('list', { isDefault: true }), context)
  defineShow(command.command('show'), context)
  defineEnable(command.command('enable'), context)
  defineDisable(command.command('disable'), context)
  defineSet(command.command('set'), context)
  defineOpen(command.command('open'), context)
  defineCredentials(command.command('credentials'), context)
  defineRotate(command.command('rotate'), context)
  // Databases too: their settings are those of "stq db update".
  defineKindHelp(command, 'service', context, async (here, name) =>
    typeNamed(await offeredServices(here, null), name, 'service', 'stq services'),
  )
}
