import { posix } from 'node:path'
import { type Plan, ProblemError, type PullSource } from '@stackquay/contract'
import { beforePullFolder, type PullPart, pullFaults, pullParts, pullPlace, snapshotName } from '@stackquay/domain'
import { FilesError, type ProjectFiles } from '@stackquay/engines'
import { newId, type OperationRow, type ProjectRow } from '@stackquay/store'
import { planShown } from '../backups/backup-handlers.ts'
import { bytesText, requireRoom } from '../backups/free-room.ts'
import type { Config } from '../config.ts'
import { type DumpDeps, findDump } from '../dumps/find-dump.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import type { FilesOf } from '../projects/files-of.ts'
import { refuseErrors } from '../projects/prepare.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { requireSlug } from '../projects/require-confirmed.ts'
import { isEnded, operationView } from '../projects/view.ts'
import type { Awake } from '../sleep/fall-asleep-and-wake.ts'
import { subjectOf } from '../snapshots/find-snapshot.ts'
import { type HowToCopy, howText, howToCopy, requireRoomForCopies } from '../snapshots/how-to-copy.ts'
import { looking } from '../snapshots/snapshot-handlers.ts'
import { type Looked, openPullRemote } from './pull-remote.ts'
import { remoteProblem, shown } from './remote-problem.ts'

export interface PullDeps extends ChangeDeps, Pick<DumpDeps, 'reveal'> {
  readonly config: Pick<Config, 'home'>
  readonly filesOf: FilesOf
  readonly now: () => Date
  readonly awake: Awake
}

/** A part with what was seen of it there and of what it replaces here. */
interface SeenPart {
  readonly part: PullPart
  /** Null where the other side could not be asked yet. */
  readonly there: Looked | null
  /** Of a database. */
  readonly how: HowToCopy | null
  /** Of a folder: there is one here. */
  readonly replaces: boolean
}

export function pullHandlers(deps: PullDeps, { find, holds, wait }: ProjectAnswers): Pick<Handlers, 'pullProject'> {
  return {
    pullProject: async ({ params, query, body }, context) => {
      const found = await find(params.id)
      const row = query.dryRun === true ? found : await deps.awake(found, context)
      refuseUnready(row)
      const source = sourceOf(row, body.source)
      const parts = partsOf(source, body.source, body.parts)
      if (query.dryRun !== true) requireSlug(body.confirm, row, 'pull', context)
      holds(row, context)
      const isDry = query.dryRun === true
      const seen = await lookHere(row, parts, isDry, context, deps)
      const { looks, warnings } = await lookThere(row, body.source, source, parts, isDry, context, deps)
      const both = seen.map((one, at): SeenPart => ({ ...one, there: looks?.[at] ?? null }))
      await requireAllRoom(row, both, deps, context.signal)
      if (isDry) return { status: 200, body: planOf(row, body.source, source, both, warnings) }
      const operation = await accept(row, body.source, source, parts, context, deps)
      const ended = await wait(operation, query.wait, context)
      return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
    },
  }
}

function sourceOf({ spec, slug }: ProjectRow, name: string): PullSource {
  const known = spec.pull ?? {}
  const source = Object.hasOwn(known, name) ? known[name] : undefined
  if (source !== undefined) {
    refuseErrors(pullFaults(`/pull/${name}`, source, spec))
    return source
  }
  const names = Object.keys(known)
  const detail = `The project "${slug}" has no source "${name}"; it has ${names.length === 0 ? 'none' : names.join(', ')}.`
  throw new ProblemError('validation_failed', detail, {
    errors: [{ pointer: '/source', code: 'unknown_source', detail }],
    hint: 'Describe it under "pull" in the settings of the project.',
  })
}

function partsOf(source: PullSource, name: string, only: readonly string[] | undefined): readonly PullPart[] {
  const known = pullParts(source).map(({ id }) => id)
  const unknown = (only ?? []).find((id) => !known.includes(id))
  if (unknown === undefined) return pullParts(source, only)
  const detail = `The source "${name}" has no part "${unknown}"; it has ${known.join(', ')}.`
  throw new ProblemError('validation_failed', detail, {
    errors: [{ pointer: '/parts', code: 'unknown_part', detail }],
  })
}

async function lookHere(
  row: ProjectRow,
  parts: readonly PullPart[],
  isDry: boolean,
  context: RequestContext,
  deps: PullDeps,
): Promise<readonly Omit<SeenPart, 'there'>[]> {
  const { signal } = context
  const files = await deps.filesOf(row)
  const paths = parts.flatMap((part) => (part.kind === 'files' ? [part.path] : []))
  const marks = new Map((await files.statMany({ root: row.path, paths, signal })).map((mark, at) => [paths[at], mark]))
  const seen: Omit<SeenPart, 'there'>[] = []
  for (const part of parts)
    if (part.kind === 'database') {
      await findDump(row, part.database, deps, signal)
      const how = await howToCopy(row, subjectOf(row, part.database).data, deps, looking({ dryRun: isDry }, context))
      seen.push({ part, how, replaces: true })
    } else {
      const mark = marks.get(part.path) ?? null
      if (mark !== null && (Number(mark.mark.split(' ')[0]) & 0o170000) !== 0o040000)
        throw new ProblemError(
          'validation_failed',
          `"${part.path}" in the source is no folder, so none is put into its place.`,
        )
      await requireWritable(row, part.path, files)
      seen.push({ part, how: null, replaces: mark !== null })
    }
  return seen
}

/** Folders that lie on the way, and what is replaced, must be the project's user's to rename. */
async function requireWritable(row: ProjectRow, path: string, files: ProjectFiles): Promise<void> {
  const names = path.split('/')
  for (let depth = names.length; depth >= 0; depth -= 1) {
    const inside = names.slice(0, depth).join('/')
    const found = await files.folder(posix.join(row.path, inside)).catch((error: unknown) => {
      if (error instanceof FilesError && (error.code === 'missing' || error.code === 'not_a_folder')) return null
      throw error
    })
    if (found?.lacks != null)
      throw new ProblemError(
        'validation_failed',
        `The user of the project may not ${found.lacks} the folder "${inside === '' ? row.path : inside}", so "${path}" cannot be replaced.`,
        { hint: 'Give the folder to the user of the project.' },
      )
    // What holds it is enough.
    if (found !== null && depth < names.length) return
  }
}

/** Whatever keeps it from being fetched is told before anything is touched. A plan tells a host key that nobody has looked at yet. */
async function lookThere(
  row: ProjectRow,
  name: string,
  source: PullSource,
  parts: readonly PullPart[],
  isDry: boolean,
  context: RequestContext,
  { store }: PullDeps,
): Promise<{ readonly looks: readonly Looked[] | null; readonly warnings: readonly string[] }> {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(lookMs)])
  try {
    const remote = await openPullRemote(row, name, source, store)
    try {
      const looks: Looked[] = []
      for (const part of parts)
        looks.push(
          part.kind === 'database' ? await remote.look(part.from, signal) : await remote.lookFiles(part.from, signal),
        )
      return { looks, warnings: [] }
    } finally {
      await remote.close().catch(() => undefined)
    }
  } catch (error) {
    const isUnknownKey =
      error instanceof ProblemError && error.errors?.some(({ code }) => code === 'host_key_unknown') === true
    if (isDry && isUnknownKey) return { looks: null, warnings: [error.message] }
    context.signal.throwIfAborted()
    if (signal.aborted)
      throw new ProblemError('remote_unreachable', `${source.from} did not answer within ${lookMs / 1000} seconds.`)
    throw remoteProblem(error)
  }
}

const lookMs = 60_000

async function requireAllRoom(
  { id }: ProjectRow,
  seen: readonly SeenPart[],
  deps: PullDeps,
  signal: AbortSignal,
): Promise<void> {
  const fetched = seen.reduce((sum, { there }) => sum + (there?.bytes ?? 0), 0)
  await requireRoom(deps.config.home, fetched, 'What is fetched')
  await requireRoomForCopies(
    id,
    [...seen.flatMap(({ how }) => how ?? []), { method: 'copy', bytes: fetched }],
    'The pull',
    deps,
    signal,
  )
}

function planOf(
  row: ProjectRow,
  name: string,
  source: PullSource,
  seen: readonly SeenPart[],
  warnings: readonly string[],
): Plan {
  const dataOf = ({ part }: SeenPart) => (part.kind === 'database' ? subjectOf(row, part.database).data : null)
  const titleOf = ({ part }: SeenPart) => (part.kind === 'database' ? subjectOf(row, part.database).title : part.path)
  const fetch = (one: SeenPart) => {
    const size = one.there?.bytes == null ? 'size not known' : bytesText(one.there.bytes)
    const what = `${one.there === null ? source.from : shown(one.there.name)}, ${size}`
    return { title: `Fetch ${titleOf(one)} from ${name}: ${what}`, workload: dataOf(one), because: [] }
  }
  const databases = seen.filter(({ part }) => part.kind === 'database')
  const place = pullPlace(source.from)
  return planShown({
    steps: [
      ...seen.map(fetch),
      ...databases.map((one) => ({
        title: `Keep ${titleOf(one)} as a snapshot`,
        workload: dataOf(one),
        because: one.how === null ? [] : [howText(one.how)],
      })),
      ...databases.map((one) => ({ title: `Replace ${titleOf(one)}`, workload: dataOf(one), because: [] })),
      ...seen
        .filter(({ part }) => part.kind === 'files')
        .map((one) => ({
          title: one.replaces
            ? `Replace the folder ${titleOf(one)}; what is there goes to ${beforePullFolder}`
            : `Make the folder ${titleOf(one)}`,
          workload: null,
          because: [],
        })),
    ],
    restarts: databases.flatMap((one) => (one.how?.manner === 'stop' ? (dataOf(one) ?? []) : [])),
    deletesData: databases.flatMap((one) => dataOf(one) ?? []),
    warnings: [
      ...warnings,
      ...(place?.kind === 'stackquay' && place.origin.startsWith('http:')
        ? [`${place.origin} is not encrypted: whoever is on the way reads the token and the data.`]
        : []),
    ],
  })
}

async function accept(
  row: ProjectRow,
  name: string,
  settings: PullSource,
  parts: readonly PullPart[],
  context: RequestContext,
  deps: PullDeps,
): Promise<OperationRow> {
  const { store } = deps
  const stamp = snapshotName(deps.now(), 'before-pull', await store.snapshots.of(row.id))
  const before = Object.fromEntries(
    parts.flatMap((part) => (part.kind === 'database' ? [[part.database, newId('snp')]] : [])),
  )
  const accepted = await store.transaction(async (tx) => {
    const ids = parts.map(({ id }) => id)
    const input = { source: name, settings, parts: ids, stamp, before }
    const made = await acceptAlone(tx, store, row, context, input, 'pull')
    await tx.audit.append(
      context.audit({
        action: 'project.pull',
        target: row.slug,
        project: row.id,
        operationId: made.operation.id,
        changes: { source: name, from: settings.from, parts: ids, before: stamp },
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}
