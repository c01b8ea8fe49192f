import { clientMissing } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import type { DatabaseDump, DataProgram } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { ProjectRow } from '@stackquay/store'
import { outputOf, type ProgramDeps, type ProgramUse } from '../backups/data-programs.ts'
import type { Resolver } from '../projects/resolver.ts'

export interface DumpDeps extends ProgramDeps {
  readonly engine: Engine
  readonly resolver: Pick<Resolver, 'dump'>
}

/** How a database that runs is exported and imported. Throws the problem where it cannot be. */
export async function findDump(
  row: ProjectRow,
  database: string,
  { engine, resolver }: Pick<DumpDeps, 'engine' | 'resolver'>,
  signal: AbortSignal,
): Promise<DatabaseDump> {
  if (!Object.hasOwn(row.spec.databases, database))
    throw new ProblemError('not_found', `There is no database "${database}".`)
  const [dump, observed] = await Promise.all([resolver.dump(row, database), engine.observe(row.id, signal)])
  if (dump === null)
    throw new ProblemError('unavailable_here', `The database "${database}" cannot be exported or imported here.`)
  const { fingerprint, ref } = dump.workload
  const running = observed.find((one) => one.ref.workload === ref.workload && one.state === 'running')
  if (running === undefined) throw new ProblemError('not_running', `The database "${database}" does not run.`)
  // With other settings than those of now it has another port or password.
  if (running.fingerprint !== fingerprint)
    throw new ProblemError('not_running', `The database "${database}" runs with other settings than those of now.`, {
      hint: 'Apply the settings, or restart the project; then try again.',
    })
  return dump
}

/** What one of its programs writes. */
export function outputOfDump(
  { workload, install }: DatabaseDump,
  program: DataProgram,
  { act, ...use }: Pick<ProgramUse, 'input' | 'onWords'> & { readonly act: string },
  deps: ProgramDeps,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const failed = (code: number | null, words: string) =>
    code === clientMissing
      ? new ProblemError('engine_cannot', words, { hint: `Debian and Ubuntu: ${install}` })
      : new ProblemError('job_failed', `${act} of ${workload.title} failed: ${reasonIn(words)}`, {
          hint: 'See the last lines of its output.',
          extensions: { logTail: words.split('\n').slice(-20) },
        })
  return outputOf(program, { project: workload.ref.project, failed, ...use }, deps, signal)
}

export async function runDump(...parameters: Parameters<typeof outputOfDump>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of outputOfDump(...parameters)) if (chunks.length < mostChunks) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** What it prints is one line. */
const mostChunks = 100

export async function isEmpty(dump: DatabaseDump, deps: ProgramDeps, signal: AbortSignal): Promise<boolean> {
  const printed = await runDump(dump, dump.look(), { act: 'A look at the data' }, deps, signal)
  return (JSON.parse(printed) as { readonly isEmpty: boolean }).isEmpty
}

/** The first error that is told, with its line in the dump. */
function reasonIn(words: string): string {
  const lines = words.split('\n')
  const found = lines.find((line) => /error|fatal/i.test(line)) ?? lines.at(-1) ?? ''
  return found.replace(/^\S*<stdin>:(\d+): */, 'line $1: ')
}
