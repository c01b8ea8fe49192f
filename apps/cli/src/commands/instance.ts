import type { Define } from '../define.ts'
import { defineCreate } from './instance/create.ts'
import { defineDelete } from './instance/delete.ts'
import { defineList } from './instance/list.ts'
import { defineOidc } from './instance/oidc.ts'
import { defineRegistries } from './instance/registries.ts'
import { defineSchedule } from './instance/schedule.ts'
import { defineSettings } from './instance/settings.ts'

export const define: Define = (command, context) => {
  const backup = command.command('backup', { isDefault: true }).summary('backups of the service’s own state')
  defineList(backup.command('list', { isDefault: true }), context)
  defineCreate(backup.command('create'), context)
  defineDelete(backup.command('delete'), context)
  defineSchedule(backup.command('schedule'), context)
  defineSettings(command.command('settings'), context)
  defineRegistries(command.command('registries'), context)
  defineOidc(command.command('oidc'), context)
}
