import type { DumpMode } from '@stackquay/catalog'
import { type DatabaseImport, type Plan, ProblemError } from '@stackquay/contract'
import { databasePart } from '@stackquay/domain'
import { newId, type OperationRow, type ProjectRow } from '@stackquay/store'
import { planShown } from '../backups/backup-handlers.ts'
import { bytesText, freeBytes, requireRoom, reserveBytes } from '../backups/free-room.ts'
import { findParts, takingTitle } from '../backups/project-parts.ts'
import type { Config } from '../config.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, acceptQuietly, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { isEnded, operationView } from '../projects/view.ts'
import type { Awake } from '../sleep/fall-asleep-and-wake.ts'
import { type DumpDeps, findDump, isEmpty } from './find-dump.ts'
import { noteText } from './note-text.ts'
import { lookThrough, type SeenDump } from './receive-dump.ts'
import type { ReceivedDumps } from './received-dumps.ts'

export interface ImportDeps extends ChangeDeps, Pick<DumpDeps, 'reveal'> {
  readonly receivedDumps: ReceivedDumps
  readonly awake: Awake
  readonly config: Pick<Config, 'home'>
}

/** What an import was asked for, as its operation keeps it. */
export interface ImportInput extends Pick<SeenDump, 'format' | 'compression' | 'contentBytes' | 'notes'> {
  readonly database: string
  /** Name of the file that was received. */
  readonly dump: string
  readonly mode: DumpMode
  readonly wasEmpty: boolean
  /** Id that the backup of what was there gets; null when there was nothing. */
  readonly before: string | null
}

export function importHandlers(deps: ImportDeps, { find, wait }: ProjectAnswers): Pick<Handlers, 'importDatabase'> {
  return {
    importDatabase: async ({ params, query, body }, context) => {
      const found = await find(params.id)
      const row = query.dryRun === true ? found : await deps.awake(found, context)
      refuseUnready(row)
      const { signal } = context
      const dump = await findDump(row, params.db, deps, signal)
      const wasEmpty = await isEmpty(dump, deps, signal)
      const mode = modeFor(query, params.db, wasEmpty)
      if (query.dryRun === true) {
        const seen = await lookThrough(body, dump, mode, { mayBeEmpty: true })
        return { status: 200, body: await planOf(row, params.db, mode, wasEmpty, seen, deps, signal) }
      }
      await acceptQuietly(deps.store, row, 'alone')
      const { id, written } = await receive(body, context, deps)
      try {
        const seen = await lookThrough(written, dump, mode)
        const before = wasEmpty ? null : newId('bak')
        const input = { database: params.db, dump: id, mode, wasEmpty, before, ...seen }
        const operation = await accept(row, input, context, deps)
        const ended = await wait(operation, query.wait, context)
        return { status: isEnded(ended) ? 200 : 202, body: answer(ended, input, seen) }
      } catch (error) {
        if (!(await isWaitedFor(id, deps))) await deps.receivedDumps.remove(id)
        throw error
      }
    },
  }
}

interface Wanted {
  readonly mode?: DumpMode | undefined
  readonly confirm?: string | undefined
  readonly dryRun?: boolean | undefined
}

/** What goes is named by who asks for it. */
function modeFor({ mode, confirm, dryRun }: Wanted, database: string, wasEmpty: boolean): DumpMode {
  if (wasEmpty) return 'replace'
  const refuse = (pointer: string, code: string, detail: string) => {
    throw new ProblemError('validation_failed', detail, { errors: [{ pointer, code, detail }] })
  }
  if (mode === undefined)
    refuse(
      '?mode',
      'required',
      `The database "${database}" is not empty: say mode=replace (what is there goes) or mode=append (it stays).`,
    )
  if (mode === 'replace' && dryRun !== true && confirm !== database)
    refuse('?confirm', 'confirm', `Replacing deletes what is in the database and needs confirm=${database}.`)
  return mode ?? 'replace'
}

async function receive(
  body: AsyncIterable<Uint8Array>,
  { contentLength }: RequestContext,
  { receivedDumps, config }: ImportDeps,
) {
  if (contentLength !== null) await requireRoom(config.home, contentLength, 'The dump')
  const most = Math.max(0, (await freeBytes(config.home)) - reserveBytes)
  return receivedDumps.receive(atMost(body, most))
}

async function* atMost(content: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    if (bytes > most)
      throw new ProblemError('disk_full', `The dump is larger than the ${bytesText(most)} that are free.`)
    yield chunk
  }
}

async function planOf(
  row: ProjectRow,
  database: string,
  mode: DumpMode,
  wasEmpty: boolean,
  { notes }: SeenDump,
  deps: ImportDeps,
  signal: AbortSignal,
): Promise<Plan> {
  const { parts } = await findParts(row, deps, signal)
  const part = parts.find(({ id }) => id === databasePart(database))
  const backup = wasEmpty || part === undefined ? [] : [{ title: takingTitle(part), workload: part.data, because: [] }]
  const title = part?.title ?? database
  return planShown({
    steps: [...backup, { title: `Import the dump into ${title}`, workload: part?.data ?? null, because: [] }],
    restarts: !wasEmpty && part?.stops === true && part.data !== null ? [part.data] : [],
    deletesData: !wasEmpty && mode === 'replace' && part?.data != null ? [part.data] : [],
    warnings: notes.map(noteText),
  })
}

async function accept(
  row: ProjectRow,
  input: ImportInput & Pick<SeenDump, 'bytes'>,
  context: RequestContext,
  deps: ImportDeps,
): Promise<OperationRow> {
  const { store } = deps
  const { database, mode, format, bytes, before, notes } = input
  const accepted = await store.transaction(async (tx) => {
    const made = await acceptAlone(tx, store, row, context, { ...input }, 'import')
    await tx.audit.append(
      context.audit({
        action: 'database.import',
        target: `${row.slug}/${database}`,
        project: row.id,
        operationId: made.operation.id,
        changes: { mode, format, bytes, before, leftOut: notes.reduce((sum, { count }) => sum + count, 0) },
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}

/** Once there is an operation, the file is its. */
async function isWaitedFor(id: string, { store }: ImportDeps): Promise<boolean> {
  return (await store.operations.unfinished()).some(({ input }) => input.dump === id)
}

function answer(
  operation: OperationRow,
  { before }: ImportInput,
  { format, compression, bytes, contentBytes, notes }: SeenDump,
): DatabaseImport {
  return {
    operation: operationView(operation),
    dump: { format: format as DatabaseImport['dump']['format'], compression, bytes, contentBytes },
    notes: notes.map((note) => ({ ...note, lines: [...note.lines] })),
    backup: before,
  }
}
