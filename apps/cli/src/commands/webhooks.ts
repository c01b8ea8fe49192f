import type { Define } from '../define.ts'
import { defineCreate } from './webhooks/create.ts'
import { defineDelete } from './webhooks/delete.ts'
import { defineDeliveries } from './webhooks/deliveries.ts'
import { defineList } from './webhooks/list.ts'
import { defineRedeliver } from './webhooks/redeliver.ts'
import { defineRotate } from './webhooks/rotate.ts'
import { defineTest } from './webhooks/test.ts'
import { defineUpdate } from './webhooks/update.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineCreate(command.command('create'), context)
  defineUpdate(command.command('update'), context)
  defineDelete(command.command('delete'), context)
  defineTest(command.command('test'), context)
  defineDeliveries(command.command('deliveries'), context)
  defineRedeliver(command.command('redeliver'), context)
  defineRotate(command.command('rotate'), context)
}
