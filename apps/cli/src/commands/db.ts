import type { Define } from '../define.ts'
import { defineClone } from './db/clone.ts'
import { defineCreate } from './db/create.ts'
import { defineCredentials } from './db/credentials.ts'
import { defineDelete } from './db/delete.ts'
import { defineExport } from './db/export.ts'
import { defineImport } from './db/import.ts'
import { defineList } from './db/list.ts'
import { definePointInTime } from './db/point-in-time.ts'
import { defineQuery } from './db/query.ts'
import { defineReset } from './db/reset.ts'
import { defineRestoreTo } from './db/restore-to.ts'
import { defineRotate } from './db/rotate.ts'
import { defineShell } from './db/shell.ts'
import { defineSnapshot } from './db/snapshot.ts'
import { defineUpdate } from './db/update.ts'
import { defineUpgrade } from './db/upgrade.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineCreate(command.command('create'), context)
  defineUpdate(command.command('update'), context)
  defineUpgrade(command.command('upgrade'), context)
  defineCredentials(command.command('credentials'), context)
  defineShell(command.command('shell'), context)
  defineQuery(command.command('query'), context)
  defineExport(command.command('export'), context)
  defineImport(command.command('import'), context)
  defineSnapshot(command.command('snapshot'), context)
  defineClone(command.command('clone'), context)
  definePointInTime(command.command('point-in-time'), context)
  defineRestoreTo(command.command('restore-to'), context)
  defineReset(command.command('reset'), context)
  defineRotate(command.command('rotate'), context)
  defineDelete(command.command('delete'), context)
}
