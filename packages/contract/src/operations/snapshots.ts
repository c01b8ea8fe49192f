import { z } from 'zod'
import { operation } from '../operation.ts'
import { listOf, ProjectRef } from '../schemas/common.ts'
import { databaseNamePattern } from '../schemas/names.ts'
import { OperationRecord } from '../schemas/operations.ts'
import { Project } from '../schemas/project.ts'
import {
  DatabaseClone,
  DatabaseReset,
  Snapshot,
  SnapshotCreate,
  SnapshotRef,
  SnapshotRestore,
} from '../schemas/snapshots.ts'
import { admin, change, database, operate, read } from './of-project.ts'

const db = z.string().regex(databaseNamePattern).describe('Name of a database, or type of a service with data.')
const subject = z.object({ id: ProjectRef, db })
const snapshot = subject.extend({ snapshot: SnapshotRef })

export const listSnapshots = operation({
  id: 'listSnapshots',
  method: 'GET',
  path: '/projects/{id}/databases/{db}/snapshots',
  tag: 'Databases',
  summary: 'Snapshots of a database, newest first',
  description: 'They go with the data of the database.',
  access: read,
  params: subject,
  results: { 200: listOf('SnapshotList', Snapshot) },
  problems: [],
})

export const createSnapshot = operation({
  id: 'createSnapshot',
  method: 'POST',
  path: '/projects/{id}/databases/{db}/snapshots',
  tag: 'Databases',
  summary: 'Make a snapshot: a copy of its data on the same disk',
  description:
    'The plan says whether the file system shares the blocks (then it takes no room), and what stops for it.',
  access: operate,
  params: subject,
  query: change,
  body: SnapshotCreate.optional(),
  results: { 202: OperationRecord, 201: Snapshot },
  problems: ['validation_failed', 'busy', 'conflict', 'disk_full', 'engine_cannot'],
  audit: 'database.snapshot.create',
  dryRun: true,
})

export const restoreSnapshot = operation({
  id: 'restoreSnapshot',
  method: 'POST',
  path: '/projects/{id}/databases/{db}/snapshots/{snapshot}/restore',
  tag: 'Databases',
  summary: 'Put a database back to a snapshot',
  description: 'What is replaced becomes a snapshot first. A restore that fails puts back what was there.',
  access: admin,
  params: snapshot,
  query: change,
  body: SnapshotRestore,
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: [
    'validation_failed',
    'busy',
    'precondition_required',
    'precondition_failed',
    'disk_full',
    'engine_cannot',
    'unavailable_here',
  ],
  audit: 'database.snapshot.restore',
  dryRun: true,
  removes: 'data',
})

export const resetDatabase = operation({
  id: 'resetDatabase',
  method: 'POST',
  path: '/projects/{id}/databases/{db}/reset',
  tag: 'Databases',
  summary: 'Empty a database and fill it from its seed',
  description:
    'What was there becomes a snapshot first. A reset that fails puts it back. Without a `seed` in the settings the database is empty then.',
  access: admin,
  params: database,
  query: change,
  body: DatabaseReset,
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: [
    'validation_failed',
    'busy',
    'precondition_required',
    'precondition_failed',
    'disk_full',
    'engine_cannot',
    'unavailable_here',
  ],
  audit: 'database.reset',
  dryRun: true,
  removes: 'data',
})

export const deleteSnapshot = operation({
  id: 'deleteSnapshot',
  method: 'DELETE',
  path: '/projects/{id}/databases/{db}/snapshots/{snapshot}',
  tag: 'Databases',
  summary: 'Delete a snapshot for good',
  description: 'It cannot be undone. One that is being restored answers 409.',
  access: admin,
  params: snapshot,
  results: { 204: null },
  problems: ['busy'],
  audit: 'database.snapshot.delete',
  removes: 'data',
})

export const cloneDatabase = operation({
  id: 'cloneDatabase',
  method: 'POST',
  path: '/projects/{id}/databases/{db}/clone',
  tag: 'Databases',
  summary: 'Add a database with a copy of the data of another',
  description:
    'Of the same type and version, with the same credentials; inside, database and user are called as in the first.',
  access: operate,
  params: database,
  query: change,
  body: DatabaseClone,
  results: { 202: OperationRecord, 201: Project },
  problems: ['validation_failed', 'busy', 'conflict', 'disk_full', 'engine_cannot', 'unavailable_here'],
  audit: 'database.clone',
  dryRun: true,
})
