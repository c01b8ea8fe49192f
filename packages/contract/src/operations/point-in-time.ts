import { operation } from '../operation.ts'
import { OperationRecord } from '../schemas/operations.ts'
import { DatabaseRestoreTo, PointInTime } from '../schemas/point-in-time.ts'
import { Project } from '../schemas/project.ts'
import { change, database, operate, read } from './of-project.ts'

export const getPointInTime = operation({
  id: 'getPointInTime',
  method: 'GET',
  path: '/projects/{id}/databases/{db}/point-in-time',
  tag: 'Databases',
  summary: 'Moments that a database can be restored to',
  description: 'It is switched on by `pointInTime` of the database.',
  access: read,
  params: database,
  results: { 200: PointInTime },
  problems: ['engine_cannot', 'job_failed'],
})

export const restoreDatabaseTo = operation({
  id: 'restoreDatabaseTo',
  method: 'POST',
  path: '/projects/{id}/databases/{db}/restore-to',
  tag: 'Databases',
  summary: 'Add a database as another one was at a moment',
  description: 'The other one stays as it is. `recovered` names the last transaction that is in the new one.',
  access: operate,
  params: database,
  query: change,
  body: DatabaseRestoreTo,
  results: { 202: OperationRecord, 201: Project },
  problems: ['validation_failed', 'busy', 'conflict', 'disk_full', 'engine_cannot', 'job_failed', 'unavailable_here'],
  audit: 'database.restore-to',
  dryRun: true,
})
