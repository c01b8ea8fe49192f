import { operation } from '../operation.ts'
import { OperationRecord } from '../schemas/operations.ts'
import { PullRequest } from '../schemas/pull.ts'
import { admin, change, id } from './of-project.ts'

export const pullProject = operation({
  id: 'pullProject',
  method: 'POST',
  path: '/projects/{id}/pull',
  tag: 'Databases',
  summary: 'Fetch databases and files from a source of the settings',
  description:
    'Everything is fetched whole and looked through before anything is touched. What is replaced becomes a snapshot, or is moved aside. A pull that fails leaves all as it was. Nothing is ever written to the source.',
  access: admin,
  params: id,
  query: change,
  body: PullRequest,
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: [
    'validation_failed',
    'busy',
    'precondition_required',
    'precondition_failed',
    'not_running',
    'disk_full',
    'engine_cannot',
    'unavailable_here',
    'remote_unreachable',
    'remote_refused',
    'remote_changed',
  ],
  audit: 'project.pull',
  dryRun: true,
  removes: 'data',
})
