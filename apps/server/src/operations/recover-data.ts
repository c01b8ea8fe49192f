import type { ArchiveMark, Recovered } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import { type ArchivePrograms, databaseWorkload, type SnapshotSubject } from '@stackquay/domain'
import type { StepContext } from '@stackquay/orchestrator'
import type { ProjectOperation } from '@stackquay/store'
import { askArchive } from '../point-in-time/archive-program.ts'
import { lookAtArchives, type SeenArchive } from '../point-in-time/look-at-archives.ts'
import type { MomentInput } from '../point-in-time/moment.ts'
import { findProject, type OperationDeps } from './operation-deps.ts'

export interface Recovering {
  readonly subject: SnapshotSubject
  /** Name of the new database, whose data is a copy of the base. */
  readonly name: string
  /** The base. */
  readonly snapshot: string
  readonly moment: MomentInput
}

/** Brings a copy of a base to the moment. Answers when its last transaction was committed. */
export async function recoverData(
  { project }: Pick<ProjectOperation, 'project'>,
  { subject, name, snapshot, moment }: Recovering,
  context: StepContext,
  deps: OperationDeps,
): Promise<Recovered> {
  const { signal, output } = context
  const row = await findProject(deps.store, project)
  const marked = await markNow(await seenArchive(project, subject, moment, deps, signal), subject, deps, context)
  const seen = await seenArchive(project, subject, moment, deps, signal)
  const range = seen.ranges.find(({ bases }) => bases.some(({ id }) => id === snapshot))
  const programs = programsOf(seen, subject)
  const last = marked ?? range?.last
  if (last === undefined || range === undefined || (marked === null && range.to < new Date(moment.to)))
    throw new ProblemError('conflict', `What is kept of ${subject.title} ends before ${moment.to} by now.`, {
      hint: 'Look at what can be restored, then try again.',
    })
  const program = programs.recover(databaseWorkload(subject.type, name), { to: moment.to, last })
  const what = `Playing the changes of ${subject.title} back`
  const onWords = (text: string) => output({ stream: 'stderr', text })
  const recovered = await askArchive<Recovered>(program, { project: row.id, what, signal, onWords }, deps)
  output({ stream: 'stdout', text: `${lastText(recovered)}\n` })
  return recovered
}

function lastText({ lastTransactionAt: at }: Recovered): string {
  return at === null ? 'No transaction after its base is in it.' : `The last transaction in it was committed at ${at}.`
}

async function seenArchive(
  project: string,
  { name }: SnapshotSubject,
  { archive }: MomentInput,
  deps: OperationDeps,
  signal: AbortSignal,
): Promise<SeenArchive> {
  const row = await findProject(deps.store, project)
  const seen = (await lookAtArchives(row, name, deps, signal)).find((one) => one.row.id === archive)
  if (seen !== undefined) return seen
  throw new ProblemError('conflict', 'What was kept of that moment was removed meanwhile.')
}

/**
 * Where the server runs, a transaction after the moment is written first, and the piece that it is in is finished: so it is certain where the
 * moment is in the log. Null where it does not run; what it wrote is in its log then.
 */
async function markNow(
  seen: SeenArchive,
  subject: SnapshotSubject,
  deps: OperationDeps,
  { signal }: StepContext,
): Promise<string | null> {
  const { workload, mark } = programsOf(seen, subject)
  if (mark === null) return null
  const { project } = workload.ref
  const observed = await deps.engine.observe(project, signal)
  if (!observed.some(({ ref, state }) => ref.workload === subject.data && state === 'running')) return null
  const what = `Marking the log of ${subject.title}`
  return (await askArchive<ArchiveMark>(mark, { project, what, signal }, deps)).piece
}

function programsOf({ programs }: SeenArchive, { title }: SnapshotSubject): ArchivePrograms {
  if (programs !== null) return programs
  throw new ProblemError('engine_cannot', `The program of ${title} that wrote what is kept is not here.`, {
    hint: 'Install that version again, then try again.',
  })
}
