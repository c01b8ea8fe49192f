import { z } from 'zod'
import { operation } from '../operation.ts'
import { Cursor, DryRun, Limit, pageOf, Wait, WorkloadName } from '../schemas/common.ts'
import { OperationRecord } from '../schemas/operations.ts'
import { engineNames, Project, ProjectCreate, ProjectPatch, ProjectSummary, projectStates } from '../schemas/project.ts'
import { Duplicate, Rename } from '../schemas/project-copies.ts'
import { BuiltInKeptData } from '../schemas/services.ts'
import { Purge } from '../schemas/trash.ts'
import { shownName } from '../shown-name.ts'
import { admin, change, id, losesLaterWrites, operate, read, removal } from './of-project.ts'

const serviceDataPointers = [...BuiltInKeptData.options.map((kind) => `/${kind}/removeData`), '/addons/*/removeData']

const deletesServiceData = {
  to: 'admin',
  when: { part: 'body', pointers: serviceDataPointers, equals: true },
  because: 'it deletes the data of a service',
} as const

const purges = {
  to: 'admin',
  when: { part: 'query', pointers: ['/purge'], equals: true },
  because: 'it deletes data for good',
} as const

export const listProjects = operation({
  id: 'listProjects',
  method: 'GET',
  path: '/projects',
  tag: 'Projects',
  summary: 'List projects',
  description: 'Without workloads and variables, by name.',
  access: { kind: 'scope', scope: 'read' },
  query: z.strictObject({
    limit: Limit,
    cursor: Cursor,
    state: z.enum(projectStates).optional().describe('Only projects in this state.'),
    q: z.string().max(100).optional().describe('Part of the name or slug.'),
  }),
  results: { 200: pageOf('ProjectPage', ProjectSummary) },
  problems: ['invalid_request'],
})

export const createProject = operation({
  id: 'createProject',
  method: 'POST',
  path: '/projects',
  tag: 'Projects',
  summary: 'Create a project: from a template, a git URL, an existing folder, or empty',
  description: 'Answers at once; `operation` shows the progress, `wait` waits for the end.',
  access: { kind: 'scope', scope: 'admin', unrestricted: true },
  query: change,
  body: ProjectCreate,
  results: { 201: Project },
  problems: [
    'validation_failed',
    'conflict',
    'source_failed',
    'path_forbidden',
    'session_required',
    'unavailable_here',
    'engine_cannot',
    'disk_full',
  ],
  audit: 'project.create',
  dryRun: true,
})

export const createFromManifest = operation({
  id: 'createFromManifest',
  method: 'POST',
  path: '/projects/from-manifest',
  tag: 'Projects',
  summary: 'Create a project from the text of a stackquay.yml',
  description: 'Like creating a project, with all settings from the file.',
  access: { kind: 'scope', scope: 'admin', unrestricted: true },
  query: change,
  body: z
    .strictObject({
      manifest: z.string().max(200_000),
      path: z
        .string()
        .min(1)
        .max(4000)
        .optional()
        .describe('Folder of the source code; without it the project starts empty.'),
      name: shownName().optional().describe('Used when the project file has none.'),
      start: z.boolean().optional(),
      engine: z.enum(engineNames).optional().describe('Its engine, for its life. Default: that of the instance.'),
    })
    .meta({ id: 'ProjectFromManifest' }),
  results: { 201: Project },
  problems: [
    'manifest_invalid',
    'validation_failed',
    'conflict',
    'path_forbidden',
    'unavailable_here',
    'engine_cannot',
  ],
  audit: 'project.create',
  dryRun: true,
})

export const getProject = operation({
  id: 'getProject',
  method: 'GET',
  path: '/projects/{id}',
  tag: 'Projects',
  summary: 'Read a project',
  description: 'With workloads and variables. The ETag is the generation.',
  access: read,
  params: id,
  results: { 200: Project },
  problems: [],
})

export const updateProject = operation({
  id: 'updateProject',
  method: 'PATCH',
  path: '/projects/{id}',
  tag: 'Projects',
  summary: 'Change runtimes, services, databases, variables; what is absent stays as it is',
  description:
    'Follows JSON Merge Patch (RFC 7396): null removes an entry of a map. While an operation runs, the one that waits carries the change out. Data that another version is to open is backed up first (`before-upgrade`).',
  access: { ...operate, raised: [deletesServiceData, losesLaterWrites('/databases/*/removeData'), purges] },
  params: id,
  query: removal,
  body: ProjectPatch,
  bodyTypes: ['application/merge-patch+json'],
  results: { 200: Project },
  problems: [
    'validation_failed',
    'conflict',
    'busy',
    'precondition_failed',
    'unavailable_here',
    'engine_cannot',
    'disk_full',
  ],
  audit: 'project.update',
  dryRun: true,
  removes: 'data',
})

export const applySettings = operation({
  id: 'applySettings',
  method: 'POST',
  path: '/projects/{id}/apply',
  tag: 'Lifecycle',
  summary: 'Apply settings that were not applied',
  description: 'After a change was cancelled or failed (`not_applied`). Nothing that runs as it is wanted is touched.',
  access: operate,
  params: id,
  query: change,
  results: { 200: Project },
  problems: [
    'validation_failed',
    'nothing_to_apply',
    'busy',
    'precondition_failed',
    'unavailable_here',
    'engine_cannot',
  ],
  audit: 'project.apply',
  dryRun: true,
})

export const revertSettings = operation({
  id: 'revertSettings',
  method: 'POST',
  path: '/projects/{id}/revert',
  tag: 'Lifecycle',
  summary: 'Go back to the settings that were applied last',
  description:
    'Settings that were not applied (`not_applied`) are given up, with the texts of their secrets. Refused where that would leave data behind.',
  access: operate,
  params: id,
  query: change,
  results: { 200: Project },
  problems: [
    'validation_failed',
    'nothing_to_apply',
    'cannot_revert',
    'busy',
    'precondition_failed',
    'unavailable_here',
    'engine_cannot',
  ],
  audit: 'project.revert',
  dryRun: true,
})

export const deleteProject = operation({
  id: 'deleteProject',
  method: 'DELETE',
  path: '/projects/{id}',
  tag: 'Projects',
  summary: 'Delete a project; keeps its source files, and by default its data',
  description: '`confirm` must be the slug. It can be restored from the trash. Answers the operation.',
  access: admin,
  params: id,
  query: z.strictObject({
    confirm: z.string().max(60).optional().describe('The project’s slug, typed.'),
    data: z.enum(['keep', 'delete']).optional().describe('delete also deletes databases and kept data. Default: keep.'),
    purge: Purge,
    dryRun: DryRun,
    wait: Wait,
  }),
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: ['validation_failed', 'busy', 'precondition_failed'],
  audit: 'project.delete',
  dryRun: true,
  removes: 'data',
})

export const renameProject = operation({
  id: 'renameProject',
  method: 'POST',
  path: '/projects/{id}/rename',
  tag: 'Projects',
  summary: 'Change the slug, and with it the addresses',
  description: 'Folder and data stay where they are. The slug of before finds the project too, until its time is over.',
  access: { kind: 'scope', scope: 'admin', project: true, unrestricted: true },
  params: id,
  query: change,
  body: Rename,
  results: { 200: Project },
  problems: ['validation_failed', 'conflict', 'busy', 'precondition_failed'],
  audit: 'project.rename',
  dryRun: true,
})

export const duplicateProject = operation({
  id: 'duplicateProject',
  method: 'POST',
  path: '/projects/{id}/duplicate',
  tag: 'Projects',
  summary: 'Make a copy with files, databases and variables',
  description: 'The copy has its own slug, ports and passwords.',
  access: { kind: 'scope', scope: 'admin', project: true, unrestricted: true },
  params: id,
  query: z.strictObject({ wait: Wait }),
  body: Duplicate,
  results: { 201: Project },
  problems: ['validation_failed', 'conflict', 'busy', 'disk_full'],
  audit: 'project.duplicate',
})

const lifecycle = z.strictObject({ workload: WorkloadName.optional() }).meta({ id: 'WorkloadSelection' }).optional()
const lifecycleUp = z
  .strictObject({
    workload: WorkloadName.optional(),
    newerImages: z
      .boolean()
      .optional()
      .describe('Take the newest builds of the images. Without it every workload stays with the build that it has.'),
  })
  .meta({ id: 'StartOptions' })
  .optional()

export const startProject = operation({
  id: 'startProject',
  method: 'POST',
  path: '/projects/{id}/start',
  tag: 'Lifecycle',
  summary: 'Start',
  description: 'Starts the whole project, or one workload. A project that sleeps wakes as a whole.',
  access: operate,
  params: id,
  query: change,
  body: lifecycleUp,
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: ['busy', 'validation_failed', 'unavailable_here', 'engine_cannot'],
  audit: 'project.start',
  dryRun: true,
})

export const stopProject = operation({
  id: 'stopProject',
  method: 'POST',
  path: '/projects/{id}/stop',
  tag: 'Lifecycle',
  summary: 'Stop; data and settings stay',
  description: 'Stops the whole project, or one workload.',
  access: operate,
  params: id,
  query: change,
  body: lifecycle,
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: ['busy', 'validation_failed'],
  audit: 'project.stop',
  dryRun: true,
})

export const sleepProject = operation({
  id: 'sleepProject',
  method: 'POST',
  path: '/projects/{id}/sleep',
  tag: 'Lifecycle',
  summary: 'Put to sleep: stop until somebody uses it',
  description:
    'A request to one of its addresses waits while it wakes; so does whoever opens a terminal or runs an action. Starting it wakes it too.',
  access: operate,
  params: id,
  query: change,
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: ['busy', 'validation_failed', 'not_running'],
  audit: 'project.sleep',
  dryRun: true,
})

export const restartProject = operation({
  id: 'restartProject',
  method: 'POST',
  path: '/projects/{id}/restart',
  tag: 'Lifecycle',
  summary: 'Restart',
  description: 'Restarts the whole project, or one workload.',
  access: operate,
  params: id,
  query: change,
  body: lifecycleUp,
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: ['busy', 'validation_failed', 'unavailable_here', 'engine_cannot'],
  audit: 'project.restart',
  dryRun: true,
})
