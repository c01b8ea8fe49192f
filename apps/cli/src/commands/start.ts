import type { Define } from '../define.ts'
import { defineLifecycle } from '../lifecycle.ts'

export const define: Define = (command, context) =>
  defineLifecycle(command, context, { operation: 'startProject', done: 'is running', showsUrl: true })
