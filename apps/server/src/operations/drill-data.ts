import type { PartEntry } from '@stackquay/archive'
import { ArchiveError } from '@stackquay/archive'
import { type BackupVerification, ProblemError } from '@stackquay/contract'
import { dataOfPart, type ProjectSpec } from '@stackquay/domain'
import { EngineError } from '@stackquay/engine-api'
import type { StepContext } from '@stackquay/orchestrator'
import type { ProjectRow } from '@stackquay/store'
import { contentsText, differenceOf } from '../backups/compare-contents.ts'
import { contentsOf } from '../backups/data-programs.ts'
import type { OpenedBackup } from '../backups/open-backup.ts'
import type { OperationDeps } from './operation-deps.ts'

export type Check = BackupVerification['checks'][number]
/** Notes what was found of a part. */
export type Note = (part: string, check: string, ok: boolean, detail: string) => void

export interface Drill {
  /** What the engine knows the copies by. */
  readonly environment: string
  readonly row: ProjectRow
  readonly opened: OpenedBackup
  readonly note: Note
}

/**
 * Puts the data of a part into an environment of its own, starts its program over it and counts what is in it. What is wrong with the
 * backup is noted; what keeps this machine from trying is thrown. Nothing of the copy is left.
 */
export async function drillData(
  drill: Drill,
  part: PartEntry,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { environment, note } = drill
  const data = dataOfPart(part) ?? ''
  try {
    const archive = deps.backups.folder.open(drill.opened.manifest.id, part.id, context.signal)
    const unpacked = await faultOf(deps.engine.writeData(environment, data, archive, context.signal), [
      'invalid_archive',
    ])
    note(part.id, 'unpacked', unpacked === null, unpacked ?? 'All of it could be unpacked.')
    if (unpacked !== null) return
    await startAndCount(drill, part, data, context, deps)
  } finally {
    await deps.testEnvironments.closeLeft(environment)
  }
}

async function startAndCount(
  { environment, row, opened, note }: Drill,
  part: PartEntry,
  data: string,
  { signal, output }: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const texts = opened.settings?.secrets ?? {}
  const prefix = `${environment}/`
  const reveal = async ({ secret }: { readonly secret: string }) => texts[secret.slice(prefix.length)] ?? ''
  const project = { ...row, spec: specOfPart(part, opened) }
  const began = performance.now()
  const up = deps.testEnvironments.bringUp(
    {
      id: environment,
      resolve: (place) => deps.resolver.inDrill(project, place),
      secret: (name) => ({ secret: `${prefix}${name}`, version: 1 }),
      signal,
      onPhase: (title) => output({ stream: 'stdout', text: `${title}\n` }),
    },
    () => reveal,
  )
  const down = await faultOf(up, ['exited_early', 'never_ready', 'job_failed', 'job_timeout'])
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  note(part.id, 'started', down === null, down ?? `Ready after ${seconds} s.`)
  if (down !== null) return
  const programs = (await up).programs.find(({ workload }) => workload.ref.workload === data)
  if (programs === undefined || programs.contents === null) return
  const counting = contentsOf(programs, { engine: deps.engine, reveal }, signal)
  const unreadable = await faultOf(counting, [])
  if (unreadable !== null) return note(part.id, 'contents', false, unreadable)
  const found = (await counting) ?? {}
  if (part.contents === undefined)
    return note(
      part.id,
      'contents',
      true,
      `${contentsText(found)}; it was being written to when it was taken, so there is nothing to compare.`,
    )
  const differs = differenceOf(part.contents, found)
  note(part.id, 'contents', differs === null, differs ?? `${contentsText(found)}, the same as when it was taken.`)
}

/** What it says of the backup, or null when it succeeds. Everything else is thrown. */
async function faultOf(work: Promise<unknown>, codes: readonly EngineError['code'][]): Promise<string | null> {
  try {
    await work
    return null
  } catch (error) {
    if (error instanceof ArchiveError && error.code === 'damaged') return error.message
    if (error instanceof EngineError && codes.includes(error.code))
      return [error.message, ...error.logTail.slice(-3)].join(' ')
    if (error instanceof ProblemError && error.code === 'job_failed') return error.message
    throw error
  }
}

/** The part alone, switched on, as it was when the backup was made. */
function specOfPart(part: PartEntry, { manifest, settings }: OpenedBackup): ProjectSpec {
  if (settings === null) throw new TypeError(`the settings of ${manifest.id} were not opened`)
  const name = part.id.slice(part.id.indexOf(':') + 1)
  const { databases, services } = settings.spec
  const database = databases[name]
  if (part.id.startsWith('database:') && database !== undefined)
    return { ...settings.spec, databases: { [name]: database }, services: {} }
  const service = services[name]
  if (service === undefined)
    throw new ProblemError('unavailable_here', `The settings of the backup do not say how ${part.title} runs.`)
  const version = part.version ?? service.version
  return { ...settings.spec, databases: {}, services: { [name]: { ...service, enabled: true, version } } }
}
