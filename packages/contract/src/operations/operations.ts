import { z } from 'zod'
import { operation } from '../operation.ts'
import { Cursor, Flag, Limit, ProjectRef, pageOf, Wait } from '../schemas/common.ts'
import { OperationRecord, operationStates } from '../schemas/operations.ts'

export const listOperations = operation({
  id: 'listOperations',
  method: 'GET',
  path: '/operations',
  tag: 'Operations',
  summary: 'Operations, newest first',
  description: 'Of all projects that the caller may see.',
  access: { kind: 'scope', scope: 'read' },
  query: z.strictObject({
    limit: Limit,
    cursor: Cursor,
    project: ProjectRef.optional(),
    state: z.enum(operationStates).optional().describe('Only operations in this state.'),
    active: Flag.optional().describe('Only queued and running ones.'),
  }),
  results: { 200: pageOf('OperationPage', OperationRecord) },
  problems: ['invalid_request'],
})

export const getOperation = operation({
  id: 'getOperation',
  method: 'GET',
  path: '/operations/{op}',
  tag: 'Operations',
  summary: 'Read an operation, or wait for its end',
  description: 'A failed operation has the reason in `error`.',
  access: { kind: 'scope', scope: 'read' },
  params: z.object({ op: z.string().max(60).describe('Id of an operation: `op_…`.') }),
  query: z.strictObject({ wait: Wait }),
  results: { 200: OperationRecord },
  problems: [],
})

export const cancelOperation = operation({
  id: 'cancelOperation',
  method: 'POST',
  path: '/operations/{op}/cancel',
  tag: 'Operations',
  summary: 'Cancel an operation; its programs are ended, nothing is deleted',
  description: 'Cancelling an operation that has ended changes nothing.',
  access: { kind: 'scope', scope: 'operate' },
  params: z.object({ op: z.string().max(60).describe('Id of an operation: `op_…`.') }),
  query: z.strictObject({ wait: Wait }),
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: [],
  audit: 'operation.cancel',
})
