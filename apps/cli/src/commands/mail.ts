import type { Define } from '../define.ts'
import { defineDelete } from './mail/delete.ts'
import { defineList } from './mail/list.ts'
import { defineSave } from './mail/save.ts'
import { defineShow } from './mail/show.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineShow(command.command('show'), context)
  defineSave(command.command('save'), context)
  defineDelete(command.command('delete'), context)
}
