import type { Define } from '../define.ts'
import { defineCancel } from './runs/cancel.ts'
import { defineFollow } from './runs/follow.ts'
import { defineList } from './runs/list.ts'
import { defineOutput } from './runs/output.ts'
import { defineShow } from './runs/show.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineShow(command.command('show'), context)
  defineFollow(command.command('follow'), context)
  defineOutput(command.command('output'), context)
  defineCancel(command.command('cancel'), context)
}
