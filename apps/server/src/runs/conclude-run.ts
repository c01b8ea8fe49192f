import type { CommandRef, CommandState, Engine } from '@stackquay/engine-api'
import type { RunRow } from '@stackquay/store'
import { problemOfFailure } from '../projects/progress-log.ts'
import type { CarriedOut, CarryOutDeps, RunProgress } from './carry-out.ts'
import { readResults } from './read-results.ts'
import { mostResultBytes, unreadable } from './results-folder.ts'
import { outcomeOf, type ReadResults, runError } from './run-outcome.ts'
import { planOf, type RunPlan } from './run-plan.ts'
import { casesOf, countsOf } from './test-cases.ts'

/** What a run came to whose command has ended, with its tests where it has results. */
export async function concluded(
  id: string,
  ref: CommandRef,
  command: CommandState,
  progress: RunProgress,
  deps: CarryOutDeps,
): Promise<CarriedOut> {
  const row = await deps.store.runs.find(id)
  const plan = row === null ? null : planOf(row)
  // A cancelled run says nothing about its tests: what it did not get to would look as if it were gone.
  if (row === null || plan === null || plan.results === null || command.cause === 'cancelled')
    return { outcome: outcomeOf(command, null, deps.maxMinutes(), plan?.limitSeconds), cases: null }
  await progress.write({ phase: 'Read the results' })
  let cases: CarriedOut['cases'] = null
  let read: ReadResults
  try {
    cases = await readCases(row, ref, plan, progress.life, deps)
    read = { counts: countsOf(cases), problem: null }
  } catch (error) {
    progress.life.throwIfAborted()
    read = { counts: null, problem: runError(problemOfFailure(error)) }
  }
  return { outcome: outcomeOf(command, read, deps.maxMinutes()), cases }
}

async function readCases(row: RunRow, ref: CommandRef, plan: RunPlan, signal: AbortSignal, deps: CarryOutDeps) {
  const { format, file } = plan.results!
  const account = await deps.accounts.of(row.project)
  const text = file === null ? await printed(deps.engine, ref, signal) : await deps.results.read(row.id, account, file)
  const { cases } = await readResults(deps.workers, format, text, signal)
  const project = await deps.store.projects.find(row.project)
  const path = project?.path ?? plan.cwd ?? '/'
  const real = await deps.files
    .of(account)
    .folder(path, { signal })
    .catch(() => null)
  const before = row.source === null ? [] : await deps.store.runs.outcomesOn(row.project, row.name, row.source)
  return casesOf({
    cases,
    cwd: plan.cwd ?? path,
    folders: [path, real?.real ?? path],
    before,
  })
}

/** What it wrote to its standard output, as far as that is kept. */
async function printed({ commands }: Engine, ref: CommandRef, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const batch of commands.read(ref, { after: 0, follow: false }, signal)) {
    for (const chunk of batch) {
      if (chunk.stream !== 'stdout') continue
      bytes += chunk.bytes.length
      if (bytes > mostResultBytes) throw unreadable('they are larger than 64 MB')
      chunks.push(chunk.bytes)
    }
  }
  return Buffer.concat(chunks).toString('utf8')
}
