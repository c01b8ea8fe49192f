import { operation } from '../operation.ts'
import { Checkpoint, CheckpointCreate, CheckpointId, CheckpointRestore } from '../schemas/checkpoints.ts'
import { listOf } from '../schemas/common.ts'
import { OperationRecord } from '../schemas/operations.ts'
import { admin, change, id, operate, read } from './of-project.ts'

const checkpoint = id.extend({ checkpoint: CheckpointId })

export const listCheckpoints = operation({
  id: 'listCheckpoints',
  method: 'GET',
  path: '/projects/{id}/checkpoints',
  tag: 'Backups',
  summary: 'Checkpoints of a project, newest first',
  description: 'They go with the project; a backup does not.',
  access: read,
  params: id,
  results: { 200: listOf('CheckpointList', Checkpoint) },
  problems: [],
})

export const getCheckpoint = operation({
  id: 'getCheckpoint',
  method: 'GET',
  path: '/projects/{id}/checkpoints/{checkpoint}',
  tag: 'Backups',
  summary: 'One checkpoint',
  description: 'What it holds, and how long its copies took.',
  access: read,
  params: checkpoint,
  results: { 200: Checkpoint },
  problems: [],
})

export const createCheckpoint = operation({
  id: 'createCheckpoint',
  method: 'POST',
  path: '/projects/{id}/checkpoints',
  tag: 'Backups',
  summary: 'Keep a whole project as it is at one moment',
  description: 'Source folder, data, settings and secrets. What runs stops for the copies, and runs again.',
  access: operate,
  params: id,
  query: change,
  body: CheckpointCreate.optional(),
  results: { 202: OperationRecord, 201: Checkpoint },
  problems: ['validation_failed', 'busy', 'conflict', 'disk_full', 'engine_cannot'],
  audit: 'checkpoint.create',
  dryRun: true,
})

export const restoreCheckpoint = operation({
  id: 'restoreCheckpoint',
  method: 'POST',
  path: '/projects/{id}/checkpoints/{checkpoint}/restore',
  tag: 'Backups',
  summary: 'Put a whole project back to a checkpoint',
  description: 'What is there becomes a checkpoint first. A restore that is cut off ends or is undone.',
  access: admin,
  params: checkpoint,
  query: change,
  body: CheckpointRestore,
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: [
    'validation_failed',
    'busy',
    'conflict',
    'precondition_required',
    'precondition_failed',
    'disk_full',
    'engine_cannot',
    'unavailable_here',
  ],
  audit: 'checkpoint.restore',
  dryRun: true,
  removes: 'data',
})

export const deleteCheckpoint = operation({
  id: 'deleteCheckpoint',
  method: 'DELETE',
  path: '/projects/{id}/checkpoints/{checkpoint}',
  tag: 'Backups',
  summary: 'Delete a checkpoint for good',
  description: 'It cannot be undone. One that is being restored answers 409.',
  access: admin,
  params: checkpoint,
  results: { 204: null },
  problems: ['busy'],
  audit: 'checkpoint.delete',
  removes: 'data',
})
