import type {
  CallInput,
  OperationRecord,
  Orphan,
  Plan,
  ProjectCreate,
  ProjectPatch,
  ProjectView,
} from '@stackquay/contract'
import { holdOperation, holdProject } from './cache.ts'
import { client, problemFrom } from './client.ts'

/**
 * Changes, and their previews. What a change answers is put into the query cache at once; the event stream would bring
 * it a moment later. Project bodies are keyed by whatever the catalogue offers, which no static type names.
 */

type Lifecycle = 'start' | 'stop' | 'restart' | 'sleep'
const lifecycleCalls = { start: 'startProject', stop: 'stopProject', restart: 'restartProject' } as const

export async function runLifecycle(act: Lifecycle, project: string, workload?: string): Promise<OperationRecord> {
  const params = { id: project }
  const body = workload === undefined ? {} : { body: { workload } }
  const operation = (await (act === 'sleep'
    ? client.call('sleepProject', { params })
    : client.call(lifecycleCalls[act], { params, ...body }))) as OperationRecord
  holdOperation(operation)
  return operation
}

export async function planNewerImages(project: string, signal: AbortSignal): Promise<Plan> {
  return client.plan('restartProject', { params: { id: project }, body: { newerImages: true } }, { signal })
}

/** Restarts with the newest builds of its images. */
export async function restartWithNewerImages(project: string): Promise<OperationRecord> {
  const body = { newerImages: true }
  const operation = (await client.call('restartProject', { params: { id: project }, body })) as OperationRecord
  holdOperation(operation)
  return operation
}

type ImageChoice = CallInput<'useImage'>['body']

export async function planImage(project: string, body: ImageChoice, signal: AbortSignal): Promise<Plan> {
  return client.plan('useImage', { params: { id: project }, body }, { signal })
}

export async function chooseImage(project: string, body: ImageChoice): Promise<OperationRecord> {
  const operation = (await client.call('useImage', { params: { id: project }, body })) as OperationRecord
  holdOperation(operation)
  return operation
}

export async function planCreate(body: ProjectCreate, signal: AbortSignal): Promise<Plan> {
  return client.plan('createProject', { body: body as never }, { signal })
}

export async function createProject(body: ProjectCreate): Promise<ProjectView> {
  return held(await client.call('createProject', { body: body as never }, { idempotencyKey: crypto.randomUUID() }))
}

/** Past the trash. */
const purging = (purge: boolean) => (purge ? { purge: true } : {})

export async function planUpdate(
  project: string,
  patch: ProjectPatch,
  signal: AbortSignal,
  purge = false,
): Promise<Plan> {
  const input = { params: { id: project }, query: purging(purge), body: patch as never }
  return client.plan('updateProject', input, { signal })
}

export async function updateProject(project: string, patch: ProjectPatch, purge = false): Promise<ProjectView> {
  const input = { params: { id: project }, query: purging(purge), body: patch as never }
  return held(await client.call('updateProject', input))
}

const settingsCalls = { apply: 'applySettings', revert: 'revertSettings' } as const

export async function planSettings(act: 'apply' | 'revert', project: string, signal: AbortSignal): Promise<Plan> {
  return client.plan(settingsCalls[act], { params: { id: project } }, { signal })
}

/** Settings that were not carried out are carried out, or given up. */
export async function settleSettings(act: 'apply' | 'revert', project: string): Promise<ProjectView> {
  return held((await client.call(settingsCalls[act], { params: { id: project } })) as ProjectView)
}

export async function planRename(project: string, slug: string, signal: AbortSignal): Promise<Plan> {
  return client.plan('renameProject', { params: { id: project }, body: { slug } }, { signal })
}

export async function renameProject(project: string, slug: string): Promise<ProjectView> {
  return held((await client.call('renameProject', { params: { id: project }, body: { slug } })) as ProjectView)
}

export async function duplicateProject(project: string, body: { name: string }): Promise<ProjectView> {
  return held(await client.call('duplicateProject', { params: { id: project }, body }))
}

export interface DeleteOptions {
  readonly data: 'keep' | 'delete'
  readonly purge: boolean
}

export async function planDelete(project: string, { data, purge }: DeleteOptions, signal: AbortSignal): Promise<Plan> {
  const query = { data, ...purging(purge) }
  return client.plan('deleteProject', { params: { id: project }, query }, { signal })
}

export async function deleteProject(
  project: string,
  confirm: string,
  { data, purge }: DeleteOptions,
): Promise<OperationRecord> {
  const operation = (await client.call('deleteProject', {
    params: { id: project },
    query: { confirm, data, ...purging(purge) },
  })) as OperationRecord
  holdOperation(operation)
  return operation
}

/** What a variable is set to; an absent value stays as it is, null runtimes are all. */
export interface VariableChange {
  readonly value?: string
  readonly secret: boolean
  readonly runtimes?: readonly string[] | null
}

export async function setVariable(project: string, name: string, change: VariableChange): Promise<ProjectView> {
  const { value, runtimes, ...others } = change
  // Setting a variable needs its value; what else there is about it is a change of the project.
  if (value === undefined) return updateProject(project, variablePatch(name, change))
  const body = { ...others, value, ...(runtimes === undefined ? {} : { runtimes: runtimes && [...runtimes] }) }
  return held(await client.call('putProjectEnv', { params: { id: project, name }, body }))
}

/** Reads one secret; the service records it. Asked for by a click, so it is in no cache. */
export async function revealVariable(project: string, name: string): Promise<string> {
  const input = { params: { id: project, name }, query: { reveal: true } }
  return (await client.call('getProjectEnvValue', input)).value ?? ''
}

export function variablePatch(name: string, change: VariableChange): ProjectPatch {
  return { env: { [name]: change } } as ProjectPatch
}

export async function setVariables(project: string, env: Readonly<Record<string, string>>): Promise<ProjectView> {
  return updateProject(project, { env: { ...env } })
}

export async function removeVariable(project: string, name: string): Promise<ProjectView> {
  return held(await client.call('deleteProjectEnv', { params: { id: project, name } }))
}

export interface DatabaseCreate {
  readonly name: string
  readonly type: string
  readonly version?: string
  readonly exposePort?: boolean
}

export async function planDatabase(project: string, body: DatabaseCreate, signal: AbortSignal): Promise<Plan> {
  return client.plan('createDatabase', { params: { id: project }, body }, { signal })
}

export async function createDatabase(project: string, body: DatabaseCreate): Promise<ProjectView> {
  return held(await client.call('createDatabase', { params: { id: project }, body }))
}

export async function dropDatabase(
  project: string,
  name: string,
  confirm: string,
  purge: boolean,
): Promise<ProjectView> {
  const query = { confirm, ...purging(purge) }
  return held(await client.call('deleteDatabase', { params: { id: project, db: name }, query }))
}

type DatabaseChange = NonNullable<CallInput<'updateDatabase'>['body']>

export async function planDatabaseUpdate(
  project: string,
  name: string,
  body: DatabaseChange,
  signal: AbortSignal,
): Promise<Plan> {
  const plan = (more: Pick<DatabaseChange, 'removeData'> = {}) =>
    client.plan('updateDatabase', { params: { id: project, db: name }, body: { ...body, ...more } }, { signal })
  try {
    return await plan()
  } catch (error) {
    // An earlier version loses what was written since: the plan says so, and the form asks for the name.
    const asks = problemFrom(error).errors?.some(
      ({ pointer, code }) => pointer === `/databases/${name}/removeData` && code === 'confirm',
    )
    if (asks !== true) throw error
    return plan({ removeData: true })
  }
}

export async function updateDatabase(project: string, name: string, body: DatabaseChange): Promise<ProjectView> {
  return held(await client.call('updateDatabase', { params: { id: project, db: name }, body }))
}

export async function planDatabaseRotation(project: string, name: string, signal: AbortSignal): Promise<Plan> {
  return client.plan('rotateDatabaseCredentials', { params: { id: project, db: name } }, { signal })
}

export async function rotateDatabase(project: string, name: string): Promise<ProjectView> {
  return held(await client.call('rotateDatabaseCredentials', { params: { id: project, db: name } }))
}

export async function planDrop(project: string, name: string, purge: boolean, signal: AbortSignal): Promise<Plan> {
  const input = { params: { id: project, db: name }, query: purging(purge) }
  return client.plan('deleteDatabase', input, { signal })
}

/** A service, or one that stands below a key of its own. */
interface ServiceNamed {
  readonly name: string
  readonly under?: string | undefined
}

export async function readServiceCredentials(project: string, { name, under }: ServiceNamed, signal: AbortSignal) {
  return under === undefined
    ? client.call('getServiceCredentials', { params: { id: project, service: name } }, { signal })
    : client.call('getAddonCredentials', { params: { id: project, name } }, { signal })
}

export async function planServiceRotation(
  project: string,
  { name, under }: ServiceNamed,
  signal: AbortSignal,
): Promise<Plan> {
  return under === undefined
    ? client.plan('rotateServiceCredentials', { params: { id: project, service: name } }, { signal })
    : client.plan('rotateAddonCredentials', { params: { id: project, name } }, { signal })
}

export async function rotateService(project: string, { name, under }: ServiceNamed): Promise<ProjectView> {
  return held(
    under === undefined
      ? await client.call('rotateServiceCredentials', { params: { id: project, service: name } })
      : await client.call('rotateAddonCredentials', { params: { id: project, name } }),
  )
}

export async function planKeptDataDeletion(
  project: string,
  kind: string,
  purge: boolean,
  signal: AbortSignal,
): Promise<Plan> {
  return client.plan('deleteKeptData', { params: { id: project, kind }, query: purging(purge) }, { signal })
}

export async function deleteKeptData(project: string, kind: string, purge: boolean): Promise<ProjectView> {
  return held(await client.call('deleteKeptData', { params: { id: project, kind }, query: purging(purge) }))
}

export interface Manifest {
  readonly manifest: string
  readonly prune: boolean
}

export async function planManifest(project: string, body: Manifest, signal: AbortSignal): Promise<Plan> {
  return (await client.call('planManifest', { params: { id: project }, body }, { signal })) as Plan
}

export async function applyManifest(project: string, body: Manifest): Promise<ProjectView> {
  return held(await client.call('applyManifest', { params: { id: project }, body }))
}

export async function deleteOrphan(id: string, data: 'keep' | 'delete'): Promise<Orphan> {
  return client.call('deleteOrphan', { params: { orphan: id }, query: { data } })
}

export async function cancelOperation(id: string): Promise<OperationRecord> {
  const operation = (await client.call('cancelOperation', { params: { op: id } })) as OperationRecord
  holdOperation(operation)
  return operation
}

function held(answer: unknown): ProjectView {
  const project = answer as ProjectView
  holdProject(project)
  return project
}
