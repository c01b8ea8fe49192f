import { z } from 'zod'
import { operation } from '../operation.ts'
import {
  Cursor,
  DryRun,
  Flag,
  Limit,
  LogLimit,
  listOf,
  ProjectRef,
  pageOf,
  textOf,
  Wait,
  WorkloadName,
} from '../schemas/common.ts'
import { WorkloadImages } from '../schemas/images.ts'
import { Credentials, LogPage, logLevels, Stats } from '../schemas/observe.ts'
import { OperationRecord, operationStates, Plan } from '../schemas/operations.ts'
import {
  DatabaseChange,
  DatabaseView,
  Duplicate,
  databaseNamePattern,
  EnvSettings,
  EnvView,
  engineNames,
  envNamePattern,
  Project,
  ProjectCreate,
  ProjectPatch,
  ProjectSummary,
  projectStates,
} from '../schemas/project.ts'
import { shownName } from '../shown-name.ts'

const id = z.object({ id: ProjectRef })
const read = { kind: 'scope', scope: 'read', project: true } as const
const operate = { kind: 'scope', scope: 'operate', project: true } as const
const admin = { kind: 'scope', scope: 'admin', project: true } as const
const change = z.strictObject({ dryRun: DryRun, wait: Wait })
const database = z.object({
  id: ProjectRef,
  db: z.string().regex(databaseNamePattern).describe('Name of the database in the project.'),
})

const logFilters = {
  workload: WorkloadName.optional().describe('One workload; without it all, in the order of time.'),
  since: z.iso.datetime().optional().describe('This time and later.'),
  until: z.iso.datetime().optional().describe('This time and earlier.'),
  q: z.string().max(200).optional().describe('Only lines that contain this text, whatever the case.'),
  regex: Flag.optional().describe('`q` is a regular expression (JavaScript’s), searched for at most a few seconds.'),
  level: z.enum(logLevels).optional().describe('Only lines of this level and worse, as far as their text tells.'),
}

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
      name: shownName().optional().describe('When the project file names none.'),
      start: z.boolean().optional(),
      engine: z
        .enum(engineNames)
        .optional()
        .describe('What it runs on, for its life. Default: what the instance prefers.'),
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
  description: 'Follows JSON Merge Patch (RFC 7396): null removes an entry of a map.',
  access: operate,
  params: id,
  query: change,
  body: ProjectPatch,
  bodyTypes: ['application/merge-patch+json'],
  results: { 200: Project },
  problems: ['validation_failed', 'conflict', 'busy', 'precondition_failed', 'unavailable_here', 'engine_cannot'],
  audit: 'project.update',
  dryRun: true,
})

export const deleteProject = operation({
  id: 'deleteProject',
  method: 'DELETE',
  path: '/projects/{id}',
  tag: 'Projects',
  summary: 'Delete a project; keeps source files, and data unless told',
  description: '`confirm` must be the slug. Answers the operation.',
  access: admin,
  params: id,
  query: z.strictObject({
    confirm: z.string().max(60).optional().describe('The project’s slug, typed.'),
    data: z.enum(['keep', 'delete']).optional().describe('delete also deletes databases and kept data. Default: keep.'),
    dryRun: DryRun,
    wait: Wait,
  }),
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: ['validation_failed', 'busy', 'precondition_failed'],
  audit: 'project.delete',
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
  description: 'Starts the whole project, or one workload.',
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

export const getProjectLogs = operation({
  id: 'getProjectLogs',
  method: 'GET',
  path: '/projects/{id}/logs',
  tag: 'Logs',
  summary: 'Read log lines, oldest first',
  description: 'Follow `nextCursor` for later lines.',
  access: read,
  params: id,
  query: z.strictObject({ ...logFilters, limit: LogLimit, cursor: Cursor }),
  results: { 200: LogPage },
  problems: ['invalid_request', 'deadline_exceeded'],
})

export const downloadLogs = operation({
  id: 'downloadLogs',
  method: 'GET',
  path: '/projects/{id}/logs/download',
  tag: 'Logs',
  summary: 'All kept log lines that fit, as a file, oldest first',
  description: '`text` is one line a line with time and workload in front; `jsonl` is one LogLine as JSON a line.',
  access: read,
  params: id,
  query: z.strictObject({
    ...logFilters,
    format: z.enum(['text', 'jsonl']).default('text').describe('Form of the lines.'),
  }),
  results: { 200: textOf('LogText', 'Log lines, one a line, in the form that was asked for.') },
  resultType: ['text/plain', 'application/jsonl'],
  ticket: 'download',
  problems: ['invalid_request'],
})

export const watchProjectLogs = operation({
  id: 'watchProjectLogs',
  method: 'GET',
  path: '/projects/{id}/logs/ws',
  tag: 'Logs',
  summary: 'Follow log lines as WebSocket frames',
  description: 'Begins with earlier lines, then sends new ones as they come.',
  access: read,
  params: id,
  query: z.strictObject({
    ...logFilters,
    tail: LogLimit.describe('So many lines from before; 200 unless told.'),
    cursor: Cursor.describe('Go on after this line instead.'),
  }),
  results: { 101: null },
  stream: 'websocket',
  ticket: 'stream',
  problems: ['invalid_request'],
})

export const getProjectStats = operation({
  id: 'getProjectStats',
  method: 'GET',
  path: '/projects/{id}/stats',
  tag: 'Stats',
  summary: 'CPU, memory and disk of each running workload',
  description: 'Workloads that do not run are left out.',
  access: read,
  params: id,
  results: { 200: Stats },
  problems: [],
})

export const watchProjectStats = operation({
  id: 'watchProjectStats',
  method: 'GET',
  path: '/projects/{id}/stats/ws',
  tag: 'Stats',
  summary: 'Statistics every two seconds as WebSocket frames',
  description: 'Each frame holds every running workload.',
  access: read,
  params: id,
  results: { 101: null },
  stream: 'websocket',
  ticket: 'stream',
  problems: [],
})

const variable = z.object({ id: ProjectRef, name: z.string().regex(envNamePattern).describe('Name of the variable.') })

export const getProjectEnv = operation({
  id: 'getProjectEnv',
  method: 'GET',
  path: '/projects/{id}/env',
  tag: 'Environment',
  summary: 'Environment variables; values of secrets are null',
  description: 'Also names the variables that services and databases add.',
  access: read,
  params: id,
  results: {
    200: z
      .object({ env: z.record(z.string(), EnvView), injected: z.array(z.string()) })
      .meta({ id: 'ProjectVariables' }),
  },
  problems: [],
})

export const getProjectEnvValue = operation({
  id: 'getProjectEnvValue',
  method: 'GET',
  path: '/projects/{id}/env/{name}',
  tag: 'Environment',
  summary: 'One environment variable; with `reveal` the value of a secret too, which is recorded by its name',
  description: 'Without `reveal` a secret has the value null.',
  access: operate,
  params: variable,
  query: z.strictObject({ reveal: Flag.optional().describe('Tell the value of a secret; without it, it is null.') }),
  results: { 200: EnvView.extend({ name: z.string() }).meta({ id: 'EnvValue' }) },
  problems: ['not_found'],
  audit: 'project.env.read',
})

export const putProjectEnv = operation({
  id: 'putProjectEnv',
  method: 'PUT',
  path: '/projects/{id}/env/{name}',
  tag: 'Environment',
  summary: 'Set one environment variable',
  description: 'Workloads that use it restart.',
  access: operate,
  params: variable,
  query: z.strictObject({ wait: Wait }),
  body: EnvSettings.extend({ value: z.string().max(65_536) }).meta({ id: 'EnvPut' }),
  results: { 200: Project },
  problems: ['busy', 'validation_failed'],
  audit: 'project.env.set',
})

export const deleteProjectEnv = operation({
  id: 'deleteProjectEnv',
  method: 'DELETE',
  path: '/projects/{id}/env/{name}',
  tag: 'Environment',
  summary: 'Remove one environment variable',
  description: 'Workloads that use it restart.',
  access: operate,
  params: variable,
  query: z.strictObject({ wait: Wait }),
  results: { 200: Project },
  problems: ['busy'],
  audit: 'project.env.delete',
})

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
  description: 'It is created and started; variables of the runtimes follow.',
  access: operate,
  params: id,
  query: change,
  body: z
    .strictObject({
      name: z.string().regex(databaseNamePattern, 'must match [a-z][a-z0-9_]{0,30}'),
      type: z.string().max(30),
      version: z.string().max(20).optional(),
      exposePort: z.boolean().optional(),
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
  access: operate,
  params: database,
  query: change,
  body: DatabaseChange,
  bodyTypes: ['application/merge-patch+json'],
  results: { 200: Project },
  problems: ['busy', 'validation_failed', 'precondition_failed', 'unavailable_here'],
  audit: 'database.update',
  dryRun: true,
})

export const deleteDatabase = operation({
  id: 'deleteDatabase',
  method: 'DELETE',
  path: '/projects/{id}/databases/{db}',
  tag: 'Databases',
  summary: 'Drop a database and its data',
  description: '`confirm` must be its name. There is no way back.',
  access: admin,
  params: database,
  query: z.strictObject({
    confirm: z.string().max(60).optional().describe('The database’s name, typed.'),
    dryRun: DryRun,
    wait: Wait,
  }),
  results: { 200: Project },
  problems: ['busy', 'validation_failed'],
  audit: 'database.delete',
  dryRun: true,
})

export const getDatabaseCredentials = operation({
  id: 'getDatabaseCredentials',
  method: 'GET',
  path: '/projects/{id}/databases/{db}/credentials',
  tag: 'Databases',
  summary: 'How to connect, with the password; every read is audited',
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

export const getManifestSchema = operation({
  id: 'getManifestSchema',
  method: 'GET',
  path: '/stackquay.schema.json',
  tag: 'Project file',
  summary: 'JSON Schema of a stackquay.yml, for editors',
  description: 'Editors complete and check the file with it.',
  access: { kind: 'public' },
  results: { 200: z.record(z.string(), z.unknown()).meta({ id: 'ManifestSchema' }) },
  problems: [],
})

export const getManifest = operation({
  id: 'getManifest',
  method: 'GET',
  path: '/projects/{id}/manifest',
  tag: 'Project file',
  summary: 'The project as a stackquay.yml; secrets by name only',
  description: 'Applying the answer changes nothing.',
  access: read,
  params: id,
  results: { 200: z.object({ manifest: z.string() }).meta({ id: 'Manifest' }) },
  problems: [],
})

const manifest = z
  .strictObject({
    manifest: z.string().max(200_000),
    prune: z
      .boolean()
      .optional()
      .describe('Also take away what the file does not name. Data and databases stay. Default: false.'),
  })
  .meta({ id: 'ManifestChange' })

export const planManifest = operation({
  id: 'planManifest',
  method: 'POST',
  path: '/projects/{id}/manifest/plan',
  tag: 'Project file',
  summary: 'What applying a stackquay.yml would do',
  description: 'Writes nothing.',
  access: read,
  params: id,
  body: manifest,
  results: { 200: Plan },
  problems: ['manifest_invalid', 'validation_failed', 'unavailable_here'],
})

export const applyManifest = operation({
  id: 'applyManifest',
  method: 'POST',
  path: '/projects/{id}/manifest/apply',
  tag: 'Project file',
  summary: 'Change the project to what a stackquay.yml says; what it does not name stays, unless told to prune',
  description: 'Answers the project; `dryRun` answers the plan.',
  access: admin,
  params: id,
  query: change,
  body: manifest,
  results: { 200: Project },
  problems: ['manifest_invalid', 'validation_failed', 'busy', 'unavailable_here'],
  audit: 'project.manifest.apply',
  dryRun: true,
})

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
  description: 'An operation that failed says why in `error`.',
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
  summary: 'Cancel an operation; what it started is ended, nothing is deleted',
  description: 'Cancelling an operation that has ended changes nothing.',
  access: { kind: 'scope', scope: 'operate' },
  params: z.object({ op: z.string().max(60).describe('Id of an operation: `op_…`.') }),
  query: z.strictObject({ wait: Wait }),
  results: { 202: OperationRecord, 200: OperationRecord },
  problems: [],
  audit: 'operation.cancel',
})
