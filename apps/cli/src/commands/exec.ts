import type { ExecSession } from '@stackquay/client'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { projectRef } from '../find-project.ts'
import { eachOf, operandsAround } from '../options.ts'
import { limitNote } from '../output/limit-note.ts'
import { writeAll } from '../output/write-all.ts'
import { exitCodeOfProgram, ProgramEnded, runningProgram } from '../program-end.ts'
import { streamingClient } from '../streaming-client.ts'

interface ExecFlags {
  readonly workload?: string
  readonly env?: readonly string[]
  readonly stdin?: boolean
}

export const define: Define = (command, context) =>
  command
    .usage('[options] [project] -- <program> [arguments...]')
    .argument('[words...]')
    .option(
      '-w, --workload <name>',
      'in whose environment: a runtime, a database (postgresql-main) or a service; without it the first runtime',
    )
    .option('-e, --env <name=value>', 'a further variable; can be given more than once', eachOf)
    .option('--no-stdin', 'leave standard input alone, as in a loop that reads from it')
    .addHelpText(
      'after',
      `
Standard input, standard output, standard error and signals pass through as they are, and so does the exit code (128 and
the signal's number when a signal ended it; 127: there is no such program; 125: it could not be run). No shell reads the
arguments: for one, say: stq exec shop -- sh -c 'echo $HOME'
In a database or a service, while that runs, its client programs are on the PATH and its credentials in the variables.
The program is ended when stq is. What must outlive it is an action (stq run) or a terminal (stq shell).

  stq exec shop -- npm ls
  stq exec shop -w python -- python manage.py dumpdata > data.json
  stq exec shop -w postgresql-main -- psql -c 'select 1'`,
    )
    .action((_words: string[], flags: ExecFlags) => runningProgram(() => run(context(), command, flags)))

async function run(context: Context, command: Command, flags: ExecFlags): Promise<void> {
  const [before, argv] = operandsAround(command)
  if (argv === null || argv.length === 0)
    throw usageError('Which program?', 'Write it after two dashes: stq exec shop -- npm ls')
  if (before.length > 1)
    throw usageError(`"${before[1]}" is not expected before the two dashes.`, 'An example: stq exec shop -- npm ls')
  const env = variables(flags.env ?? [])
  const client = await streamingClient(context)
  const project = await projectRef(context, before[0])
  const { world } = context
  const over = new AbortController()
  let session: ExecSession | null = null
  let started = false
  // Signals are the program's from when it runs; until then they end the waiting for it.
  const release = world.takeSignals(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'], (name) => {
    if (started) session?.kill(name)
    else over.abort()
  })
  try {
    session = client.exec(
      project,
      { argv, workload: flags.workload, env },
      {
        signal: over.signal,
        ...(flags.stdin === false ? {} : { stdin: world.stdin }),
        onStart: () => {
          started = true
        },
        onOutput: (stream, bytes) => writeAll(world[stream], bytes),
      },
    )
    const end = await session.ended.catch((error: unknown) => {
      throw withShellCode(error)
    })
    if (end === null) throw new CliError('Interrupted before it ran.', { exitCode: exitCodes.interrupted })
    const why = limitNote(end)
    if (why !== null) context.note(why)
    const code = exitCodeOfProgram(end)
    if (code !== 0) throw new ProgramEnded(code)
  } finally {
    release()
  }
}

/** As every shell has it. */
function withShellCode(error: unknown): unknown {
  const problem = error instanceof Error && 'problem' in error ? (error.problem as { code?: string } | null) : null
  return problem?.code === 'program_not_found' && error instanceof Error
    ? new CliError(error.message, { exitCode: exitCodes.programNotFound, cause: error })
    : error
}

function variables(pairs: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (pairs.length === 0) return undefined
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw usageError(`"${pair}" is not NAME=value.`)
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
  )
}
