import { z } from 'zod'
import { operation } from '../operation.ts'
import { DryRun, listOf, Wait } from '../schemas/common.ts'
import { DatabaseChange, DatabasePatch, DatabaseView, PointInTimeChange } from '../schemas/databases.ts'
import { databaseNamePattern } from '../schemas/names.ts'
import { Credentials } from '../schemas/observe.ts'
import { Project } from '../schemas/project.ts'
import { Purge } from '../schemas/trash.ts'
import { admin, change, database, id, losesLaterWrites, operate, read } from './of-project.ts'

export const listDatabases = operation({
  id: 'listDatabases',
  method: 'GET',
  path: '/projects/{id}/databases',
  tag: 'Databases',
  summary: 'Databases of a project',
  description: 'Without credentials.',
  access: read,
  params: id,
  results: { 200: listOf('DatabaseList', DatabaseView.extend({ name: z.string() }).meta({ id: 'NamedDatabase' })) },
  problems: [],
})

export const createDatabase = operation({
  id: 'createDatabase',
  method: 'POST',
  path: '/projects/{id}/databases',
  tag: 'Databases',
  summary: 'Add a database',
  description: 'It is created and started; the runtimes get its variables.',
  access: operate,
  params: id,
  query: change,
  body: z
    .strictObject({
      name: z.string().regex(databaseNamePattern, 'must match [a-z][a-z0-9_]{0,30}'),
      type: z.string().max(30),
      version: z.string().max(20).optional(),
      exposePort: z.boolean().optional(),
      pointInTime: PointInTimeChange.optional().describe('Its changes are kept.'),
      seed: DatabasePatch.shape.seed,
    })
    .meta({ id: 'DatabaseCreate' }),
  results: { 201: Project },
  problems: ['conflict', 'busy', 'validation_failed', 'unavailable_here'],
  audit: 'database.create',
  dryRun: true,
})

export const updateDatabase = operation({
  id: 'updateDatabase',
  method: 'PATCH',
  path: '/projects/{id}/databases/{db}',
  tag: 'Databases',
  summary: 'Change a database; what is absent stays as it is',
  description: 'Follows JSON Merge Patch (RFC 7396).',
  access: { ...operate, raised: [losesLaterWrites('/removeData')] },
  removes: 'data',
  params: database,
  query: change,
  body: DatabaseChange,
  bodyTypes: ['application/merge-patch+json'],
  results: { 200: Project },
  problems: ['busy', 'validation_failed', 'precondition_failed', 'unavailable_here', 'engine_cannot', 'disk_full'],
  audit: 'database.update',
  dryRun: true,
})

export const deleteDatabase = operation({
  id: 'deleteDatabase',
  method: 'DELETE',
  path: '/projects/{id}/databases/{db}',
  tag: 'Databases',
  summary: 'Drop a database and its data',
  description: '`confirm` must be its name. It can be restored from the trash.',
  access: admin,
  params: database,
  query: z.strictObject({
    confirm: z.string().max(60).optional().describe('The database’s name, typed.'),
    purge: Purge,
    dryRun: DryRun,
    wait: Wait,
  }),
  results: { 200: Project },
  problems: ['busy', 'validation_failed'],
  audit: 'database.delete',
  dryRun: true,
  removes: 'data',
})

export const getDatabaseCredentials = operation({
  id: 'getDatabaseCredentials',
  method: 'GET',
  path: '/projects/{id}/databases/{db}/credentials',
  tag: 'Databases',
  summary: 'Connection data with the password; every read is audited',
  description: '`hostPort` is for programs outside the project.',
  access: operate,
  params: database,
  results: { 200: Credentials },
  problems: [],
  audit: 'database.credentials.read',
})

export const rotateDatabaseCredentials = operation({
  id: 'rotateDatabaseCredentials',
  method: 'POST',
  path: '/projects/{id}/databases/{db}/credentials/rotate',
  tag: 'Databases',
  summary: 'Make a new password; the database and what uses it restart',
  description: 'The old password stops working.',
  access: admin,
  params: database,
  query: change,
  results: { 200: Project },
  problems: ['busy', 'validation_failed', 'unavailable_here', 'precondition_failed'],
  audit: 'database.credentials.rotate',
  dryRun: true,
})
