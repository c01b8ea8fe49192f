import { ProblemError, type PullSource } from '@stackquay/contract'
import { type PullPart, pullParts, snapshotSubject, spareBeforeRestore } from '@stackquay/domain'
import type { Outcome, StepContext, Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { bytesText, freeBytes, reserveBytes } from '../backups/free-room.ts'
import { usersOfParts } from '../backups/project-parts.ts'
import { findDump } from '../dumps/find-dump.ts'
import { everySoOften, loadDump } from '../dumps/load-dump.ts'
import { lookThrough, type SeenDump } from '../dumps/receive-dump.ts'
import { openPullRemote } from '../pulls/pull-remote.ts'
import { remoteProblem } from '../pulls/remote-problem.ts'
import { deadlines, findProject, finish, forever, type OperationDeps } from './operation-deps.ts'
import { bringBack, noteInput, pauseWorkloads } from './paused.ts'
import { absentFolders, asideOf, type FolderSwap, swapFolder, tidySwaps, undoSwap } from './pull-files.ts'
import { putBack } from './restore-snapshot.ts'
import { forgetSnapshot, takeSnapshot } from './take-snapshot.ts'

/** What a pull was asked for, as its operation keeps it. Secrets are names of variables. */
export interface PullInput {
  readonly source: string
  readonly settings: PullSource
  readonly parts: readonly string[]
  /** Name of the snapshots, and of the folder with what was replaced. */
  readonly stamp: string
  /** By database: the id of the snapshot that what is replaced becomes. */
  readonly before: Readonly<Record<string, string>>
  /** Databases that a dump is read into, once that has begun. */
  readonly replacing?: readonly string[]
  /** Folders that were not there, once the first one is replaced. */
  readonly absent?: readonly string[]
}

/** What is known of this attempt alone. */
interface Attempt {
  readonly input: PullInput
  /** Databases that a failed load left as they were. */
  readonly unchanged: Set<string>
}

/** What lies in the home, whole and looked through. */
interface Fetched {
  readonly id: string
  readonly seen: SeenDump | null
}

/**
 * Fetches dumps and folders whole, keeps what is there, and puts them in its place: all of it or nothing. Cut off it begins again, and fetches
 * again; until all was fetched nothing is touched.
 */
export function pull(operation: ProjectOperation, deps: OperationDeps): Work {
  const input = operation.input as unknown as PullInput
  const parts = pullParts(input.settings, input.parts)
  const fetched = new Map<string, Fetched>()
  const unchanged = new Set<string>()
  const step = (id: string, title: string, run: WorkStep['run']): WorkStep => ({ id, title, run })
  const databases = parts.filter((part) => part.kind === 'database')
  const folders = parts.filter((part) => part.kind === 'files')
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      async () =>
        parts.map((part) =>
          step(`fetch:${part.id}`, `Fetch ${titleOf(part)} from ${input.source}`, async (context) => {
            fetched.set(part.id, await fetchPart(operation, input, part, context, deps))
          }),
        ),
      async () =>
        databases.map(({ database }) =>
          step(`keep:${database}`, `Keep ${database} as a snapshot`, (context) =>
            keep(operation, input, database, context, deps),
          ),
        ),
      async () => [
        ...databases.map((part) =>
          step(`load:${part.database}`, `Put the dump into ${part.database}`, (context) =>
            load(operation, part.database, fetched.get(part.id)!, { input, unchanged }, context, deps),
          ),
        ),
        ...folders.map((part) =>
          step(`put:${part.path}`, `Put ${part.path} into its place`, (context) =>
            putFolder(operation, part.path, fetched.get(part.id)!, input, context, deps),
          ),
        ),
      ],
    ],
    settle: async (outcome) => {
      for (const { id } of fetched.values()) await deps.receivedDumps.remove(id)
      await settle(operation, { input, unchanged }, parts, outcome, deps)
    },
  }
}

export function titleOf(part: PullPart): string {
  return part.kind === 'database' ? part.database : part.path
}

async function fetchPart(
  operation: ProjectOperation,
  input: PullInput,
  part: PullPart,
  context: StepContext,
  deps: OperationDeps,
): Promise<Fetched> {
  const { signal, output } = context
  const { receivedDumps, config, store } = deps
  const row = await findProject(store, operation.project)
  const say = (text: string) => output({ stream: 'stdout', text: `${text}\n` })
  const room = Math.max(0, (await freeBytes(config.home)) - reserveBytes)
  const remote = await openPullRemote(row, input.source, input.settings, store).catch((error: unknown) => {
    throw remoteProblem(error)
  })
  const skipped: string[] = []
  const content =
    part.kind === 'database'
      ? remote.read(part.from, signal)
      : remote.archive(part.from, (path) => skipped.push(path), signal)
  const { id, written } = receivedDumps.receive(atMost(content, room, say))
  try {
    const fetched = { id, seen: await lookAt(row, part, written, room, deps, signal) }
    if (skipped.length > 0) say(`Left out, for they are no files or lead elsewhere: ${listed(skipped)}`)
    return fetched
  } catch (error) {
    await receivedDumps.remove(id)
    signal.throwIfAborted()
    throw remoteProblem(error)
  } finally {
    await remote.close().catch(() => undefined)
  }
}

async function lookAt(
  row: ProjectRow,
  part: PullPart,
  written: AsyncIterable<Uint8Array>,
  room: number,
  deps: OperationDeps,
  signal: AbortSignal,
): Promise<SeenDump | null> {
  if (part.kind === 'files') {
    for await (const _ of written) signal.throwIfAborted()
    return null
  }
  const seen = await lookThrough(written, await findDump(row, part.database, deps, signal), 'replace')
  if (seen.contentBytes <= room) return seen
  throw new ProblemError(
    'disk_full',
    `The dump of ${part.database} has ${bytesText(seen.contentBytes)} unpacked, and ${bytesText(room)} are free.`,
  )
}

async function* atMost(
  content: AsyncIterable<Uint8Array>,
  room: number,
  say: (text: string) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  const tell = everySoOften((so) => say(`${bytesText(so)} fetched`))
  for await (const chunk of content) {
    bytes += chunk.length
    if (bytes > room)
      throw new ProblemError('disk_full', `What is fetched is larger than the ${bytesText(room)} that are free.`)
    tell(bytes)
    yield chunk
  }
  say(`${bytesText(bytes)} fetched, all of it`)
}

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, 10).map((path) => JSON.stringify(path))
  return `${shown.join(', ')}${paths.length > 10 ? ` and ${paths.length - 10} more` : ''}`
}

async function keep(
  operation: ProjectOperation,
  { before, stamp, replacing }: PullInput,
  database: string,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  // Of an attempt that was cut off: what is there now is not what was.
  if (replacing?.includes(database) === true) return
  const row = await findProject(deps.store, operation.project)
  const subject = snapshotSubject(row.spec, database)
  if (subject === null) throw new ProblemError('not_found', `There is no database "${database}".`)
  const request = { id: before[database] ?? '', name: stamp, source: 'before-pull' as const }
  await takeSnapshot(operation, row, { subject, request }, context, deps)
}

async function load(
  operation: ProjectOperation,
  database: string,
  { id, seen }: Fetched,
  { input: { stamp }, unchanged }: Attempt,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { store, receivedDumps } = deps
  const row = await findProject(store, operation.project)
  const dump = await findDump(row, database, deps, context.signal)
  const { replacing = [] } = await inputNow(operation, deps)
  await noteInput(operation.id, { replacing: [...new Set([...replacing, database])] }, deps)
  const loaded = { ...seen!, content: receivedDumps.read(id), mode: 'replace' as const, act: 'The import' }
  await loadDump(dump, loaded, context, deps).catch((error: unknown) => {
    // One that was cut off before may have come to its end, and nobody knows.
    if (dump.isAtomic && !replacing.includes(database) && !context.signal.aborted) unchanged.add(database)
    throw error
  })
  const text = `What was there is the snapshot ${stamp}: stq db snapshot restore ${row.slug} ${database} ${stamp}\n`
  context.output({ stream: 'stdout', text })
}

async function putFolder(
  operation: ProjectOperation,
  path: string,
  { id }: Fetched,
  input: PullInput,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const row = await findProject(deps.store, operation.project)
  const paths = pullParts(input.settings, input.parts).flatMap((part) => (part.kind === 'files' ? [part.path] : []))
  const known = await inputNow(operation, deps)
  const absent = known.absent ?? (await absentFolders(row, paths, deps))
  if (known.absent === undefined) await noteInput(operation.id, { absent }, deps)
  const swap = swapOf(operation, { ...input, absent })
  await swapFolder(row, path, swap, deps.receivedDumps.read(id), context, deps)
  const what = absent.includes(path)
    ? 'It was not there before.'
    : `What was there lies in ${asideOf(input.stamp, path)}`
  context.output({ stream: 'stdout', text: `${what}\n` })
}

function swapOf({ id }: ProjectOperation, { stamp, absent = [] }: PullInput): FolderSwap {
  return { operation: id, stamp, absent }
}

async function inputNow({ id, input }: ProjectOperation, { store }: OperationDeps): Promise<PullInput> {
  return ((await store.operations.find(id))?.input ?? input) as unknown as PullInput
}

async function settle(
  operation: ProjectOperation,
  { input, unchanged }: Attempt,
  parts: readonly PullPart[],
  outcome: Outcome,
  deps: OperationDeps,
): Promise<void> {
  const { store, restartHolds } = deps
  const row = await store.projects.find(operation.project)
  if (row === null || row.phase === 'deleting') return restartHolds.release(operation.project)
  const context: StepContext = { signal: forever, output: () => undefined }
  const now = await inputNow(operation, deps)
  if (outcome.state === 'succeeded') await settleDone(row, parts, deps)
  else {
    const replacing = (now.replacing ?? []).filter((database) => !unchanged.has(database))
    await undo(operation, row, input, { ...now, replacing }, context, deps)
  }
  if (now.absent !== undefined) await tidySwaps(row, swapOf(operation, now), deps)
  await bringBack(operation, context, deps)
  await finish(row.id, deps, { asKnown: true })
}

async function settleDone(row: ProjectRow, parts: readonly PullPart[], deps: OperationDeps): Promise<void> {
  const { store } = deps
  for (const part of parts) {
    const data = part.kind === 'database' ? snapshotSubject(row.spec, part.database)?.data : undefined
    if (data === undefined) continue
    // It has what was pulled, and a seed would empty it.
    if ((await store.seeds.find(row.id, data)) !== null)
      await store.transaction((tx) => tx.seeds.set(row.id, data, 'done'))
    const known = (await store.snapshots.of(row.id)).filter((one) => one.data === data)
    for (const spare of spareBeforeRestore(known)) await forgetSnapshot(row.id, spare.id, deps)
  }
}

/** All as it was: a pull that failed in its second part takes back its first. */
async function undo(
  operation: ProjectOperation,
  row: ProjectRow,
  input: PullInput,
  { replacing = [], absent }: PullInput,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  if (absent !== undefined)
    for (const part of pullParts(input.settings, input.parts))
      if (part.kind === 'files') await undoSwap(row, part.path, swapOf(operation, { ...input, absent }), deps)
  const subjects = replacing.flatMap((database) => snapshotSubject(row.spec, database) ?? [])
  if (subjects.length > 0) {
    const { kinds } = (await deps.model.renew(row.id)).resolved
    const observed = await deps.engine.observe(row.id, forever)
    const users = usersOfParts(
      row,
      subjects.map(({ part }) => part),
      observed,
      kinds,
    )
    await pauseWorkloads(operation, users, context, deps)
    for (const subject of subjects) await putBack(row.id, subject, input.before[subject.name] ?? '', context, deps)
  }
  for (const id of Object.values(input.before)) await forgetSnapshot(row.id, id, deps)
}
