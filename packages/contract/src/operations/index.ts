import type { Operation } from '../operation.ts'
import * as access from './access.ts'
import * as network from './network.ts'
import * as projects from './projects.ts'
import * as runs from './runs.ts'
import * as services from './services.ts'
import * as system from './system.ts'
import * as terminals from './terminals.ts'
import * as webhooks from './webhooks.ts'

/** The one description of what the product can do. Routes, OpenAPI, client, CLI and reference are read from it. */
export const operations = {
  ...system,
  ...access,
  ...projects,
  ...services,
  ...runs,
  ...terminals,
  ...webhooks,
  ...network,
}

export type Operations = typeof operations
export type OperationId = keyof Operations

export const operationList: readonly Operation[] = Object.values(operations)
