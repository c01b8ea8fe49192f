import { z } from 'zod'
import { operation } from '../operation.ts'
import { listOf, WorkloadName } from '../schemas/common.ts'
import { WorkloadImages } from '../schemas/images.ts'
import { OperationRecord } from '../schemas/operations.ts'
import { change, id, operate, read } from './of-project.ts'

export const listImages = operation({
  id: 'listImages',
  method: 'GET',
  path: '/projects/{id}/images',
  tag: 'Lifecycle',
  summary: 'Images of the workloads: the build in use and the one before',
  description: 'Empty on an engine that runs programs of this machine.',
  access: read,
  params: id,
  results: { 200: listOf('ImageList', WorkloadImages) },
  problems: [],
})

export const useImage = operation({
  id: 'useImage',
  method: 'POST',
  path: '/projects/{id}/images',
  tag: 'Lifecycle',
  summary: 'Run a workload from another build of its image: back to the previous one, or on to the latest',
  description:
    'The workload is replaced, or started when it does not run. After `previous` it stays with that build, whatever its ' +
    'tag comes to mean, until `latest` is asked for, which takes what the registry has then.',
  access: operate,
  params: id,
  query: change,
  body: z.strictObject({ workload: WorkloadName, use: z.enum(['previous', 'latest']) }).meta({ id: 'ImageChoice' }),
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: ['busy', 'validation_failed', 'engine_cannot', 'unavailable_here'],
  audit: 'project.image',
  dryRun: true,
})
