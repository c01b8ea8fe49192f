import type { Define } from '../define.ts'
import { defineSchema } from './manifest/schema.ts'
import { defineShow } from './manifest/show.ts'

export const define: Define = (command, context) => {
  defineShow(command.command('show', { isDefault: true }), context)
  defineSchema(command.command('schema'), context)
}
