import { defineLifecycle } from '../lifecycle.ts'
import type { Define } from './index.ts'

export const define: Define = (command, context) =>
  defineLifecycle(command, context, { operation: 'startProject', done: 'is running', showsUrl: true })
