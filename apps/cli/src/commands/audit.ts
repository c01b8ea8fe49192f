import type { Define } from '../define.ts'
import { defineExport } from './audit/export.ts'
import { defineList } from './audit/list.ts'
import { defineVerify } from './audit/verify.ts'

export const define: Define = (command, context) => {
  defineList(command.command('list', { isDefault: true }), context)
  defineExport(command.command('export'), context)
  defineVerify(command.command('verify'), context)
}
