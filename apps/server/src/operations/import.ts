import { ProblemError } from '@stackquay/contract'
import { type DatabaseDump, databasePart, snapshotSubject } from '@stackquay/domain'
import type { Outcome, StepContext, Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { bytesText } from '../backups/free-room.ts'
import { openBackup } from '../backups/open-backup.ts'
import { usersOfParts } from '../backups/project-parts.ts'
import { findDump, isEmpty, runDump } from '../dumps/find-dump.ts'
import type { ImportInput } from '../dumps/import-handler.ts'
import { loadDump } from '../dumps/load-dump.ts'
import { forgetBefore } from './forget-before.ts'
import { deadlines, findProject, finish, forever, type OperationDeps } from './operation-deps.ts'
import { bringBack, noteInput, pauseWorkloads } from './paused.ts'
import { putPart } from './put-back.ts'
import { takeBackup } from './take-backup.ts'

/**
 * Brings a dump that was received whole into a database: what is in there is backed up first, and whatever goes wrong leaves it as it was.
 * Cut off it begins again where what was half done is deleted anyway.
 */
export function importDump(operation: ProjectOperation, deps: OperationDeps): Work {
  const input = operation.input as unknown as ImportInput
  let abandon = async () => {}
  const before = async () => {
    if (input.before === null) return []
    const row = await findProject(deps.store, operation.project)
    const request = {
      id: input.before,
      source: 'before-import',
      note: `Before an import into ${input.database}`,
      parts: [databasePart(input.database)],
      bringsBack: true,
    } as const
    const taken = takeBackup(operation, row, request, deps)
    abandon = taken.abandon
    return taken.steps()
  }
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      before,
      async () => [
        {
          id: 'import',
          title: `Import the dump into ${input.database}`,
          run: (context) => load(operation, input, context, deps),
        } satisfies WorkStep,
      ],
    ],
    settle: async (outcome) => {
      await abandon()
      await settle(operation, input, outcome, deps)
    },
  }
}

async function load(
  { id, project }: ProjectOperation,
  input: ImportInput,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { signal, output } = context
  const row = await findProject(deps.store, project)
  const dump = await findDump(row, input.database, deps, signal)
  const begunBefore = (await deps.store.operations.find(id))?.input.importing === true
  if (begunBefore && input.mode === 'append') throw interrupted(input, dump)
  if (input.wasEmpty && !begunBefore && !(await isEmpty(dump, deps, signal)))
    throw new ProblemError('conflict', `Something came into the database "${input.database}" meanwhile.`, {
      hint: 'Import again, with mode=replace or mode=append.',
    })
  await noteInput(id, { importing: true }, deps)
  const { mode, contentBytes } = input
  const content = deps.receivedDumps.read(input.dump)
  await loadDump(dump, { ...input, content, mode, act: 'The import' }, context, deps)
  output({ stream: 'stdout', text: `${bytesText(contentBytes)} imported\n` })
}

/** Whether the last attempt had come to its end nobody knows, and a second one would bring everything twice. */
function interrupted({ before }: ImportInput, { isAtomic }: DatabaseDump): ProblemError {
  return new ProblemError('interrupted', 'The service was ended while the dump came in.', {
    hint: isAtomic
      ? `The database is as it was, or has all of the dump: look which. The backup from before is ${before}.`
      : 'The database is put back to what it was. Import again.',
  })
}

async function settle(
  operation: ProjectOperation,
  input: ImportInput,
  outcome: Outcome,
  deps: OperationDeps,
): Promise<void> {
  const { store, restartHolds, receivedDumps } = deps
  await receivedDumps.remove(input.dump)
  const row = await store.projects.find(operation.project)
  if (row === null || row.phase === 'deleting') return restartHolds.release(operation.project)
  const context: StepContext = { signal: forever, output: () => undefined }
  const now = await store.operations.find(operation.id)
  if (outcome.state !== 'succeeded') {
    const isKnown = now?.input.importing !== true || (await undo(operation, row, input, context, deps))
    if (isKnown && !isUnsure(outcome)) await forgetBefore(input.before, deps)
  } else await forgetSeed(row, input.database, deps)
  await bringBack(operation, context, deps)
  await finish(row.id, deps, { asKnown: true })
}

/** A seed whose attempt was cut off would empty it at the next start. */
async function forgetSeed(row: ProjectRow, database: string, { store }: OperationDeps): Promise<void> {
  const data = snapshotSubject(row.spec, database)?.data
  if (data !== undefined && (await store.seeds.find(row.id, data)) === 'begun')
    await store.transaction((tx) => tx.seeds.set(row.id, data, 'done'))
}

function isUnsure(outcome: Outcome): boolean {
  return outcome.state === 'failed' && outcome.error instanceof ProblemError && outcome.error.code === 'interrupted'
}

/** As it was before. Answers whether that is sure; where it is not, the backup stays. */
async function undo(
  operation: ProjectOperation,
  row: ProjectRow,
  input: ImportInput,
  context: StepContext,
  deps: OperationDeps,
): Promise<boolean> {
  const dump = await deps.resolver.dump(row, input.database)
  if (dump === null) return false
  const cleaning = dump.clean(input.wasEmpty)
  const cleaned = cleaning === null ? Promise.resolve('') : runDump(dump, cleaning, { act: 'Clearing' }, deps, forever)
  const isClean = await cleaned.then(
    () => true,
    () => false,
  )
  if (dump.isAtomic || input.before === null) return isClean
  await putBefore(operation, row, input.before, databasePart(input.database), context, deps)
  return true
}

async function putBefore(
  operation: ProjectOperation,
  row: ProjectRow,
  before: string,
  id: string,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { kinds } = (await deps.model.renew(row.id)).resolved
  const observed = await deps.engine.observe(row.id, forever)
  await pauseWorkloads(operation, usersOfParts(row, [id], observed, kinds), context, deps)
  const from = await openBackup(before, [id], deps.backups)
  for (const part of from.manifest.parts) if (part.id === id) await putPart(row, part, from, context, deps)
}
