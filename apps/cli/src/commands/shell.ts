import { randomUUID } from 'node:crypto'
import type { Client } from '@stackquay/client'
import type { Terminal } from '@stackquay/contract'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { projectRef } from '../find-project.ts'
import { nearest } from '../nearest.ts'
import { operandsAround } from '../options.ts'
import { limitNote } from '../output/limit-note.ts'
import { plainText } from '../output/plain-text.ts'
import { stateCell } from '../output/state.ts'
import { table } from '../output/table.ts'
import { ago } from '../output/time.ts'
import { exitCodeOfProgram, ProgramEnded, runningProgram } from '../program-end.ts'
import { attach } from '../shell/attach.ts'
import { streamingClient } from '../streaming-client.ts'

interface ShellFlags {
  readonly workload?: string
  readonly list?: boolean
  readonly attach?: string | true
  readonly end?: string
}

export const define: Define = (command, context) =>
  command
    .usage('[options] [project] [-- <program> [arguments...]]')
    .argument('[words...]')
    .option(
      '-w, --workload <name>',
      'in whose environment: a runtime, a database (postgresql-main) or a service; without it the first runtime',
    )
    .option('--list', 'show the terminals of the project')
    .option('--attach [terminal]', 'come back to one that runs; without its id to the newest')
    .option('--end <terminal>', 'end one with everything that runs in it')
    .addHelpText(
      'after',
      `
The terminal outlives the connection: after a lost network or a restart of the service it goes on in place, and nothing that
was printed is missing. Ctrl-] and then d leaves it running, Ctrl-] and then k ends it, Ctrl-] twice sends one Ctrl-].
The exit code is that of the shell; 0 when it was left running. Without a terminal, use: stq exec

  stq shell shop
  stq shell shop -- node --inspect
  stq shell shop -w postgresql-main -- psql
  stq shell shop --attach`,
    )
    .action((_words: string[], flags: ShellFlags) => {
      const act = () => run(context(), command, flags)
      // A list, and ending one, have the exit codes of every other command.
      return flags.list === true || flags.end !== undefined ? act() : runningProgram(act)
    })

async function run(context: Context, command: Command, flags: ShellFlags): Promise<void> {
  const [[named, ...more], program] = operandsAround(command)
  if (more.length > 0)
    throw usageError(`"${more[0]}" is not expected.`, 'Write the program after two dashes: stq shell shop -- htop')
  const plain = flags.list === true || flags.end !== undefined
  if (!plain && (context.world.stdin.isTTY !== true || context.world.stdout.isTTY !== true))
    throw usageError(
      'A shell needs a terminal, and standard input or output is none here.',
      'To run a program without one: stq exec shop -- npm ls',
    )
  const client = await streamingClient(context)
  const project = await projectRef(context, named)
  if (flags.list === true) return showList(context, client, project)
  if (flags.end !== undefined) return end(context, client, project, flags.end)

  const terminal =
    flags.attach === undefined
      ? await open(context, client, project, flags, program)
      : await find(context, client, project, flags.attach)
  context.note(
    context.noteStyle.colors.dim(`${terminal.id}: ${plainText(terminal.title)}. Ctrl-] d leaves it running.`),
  )
  const departure = await attach(context, client, project, terminal.id, { replayed: flags.attach !== undefined })
  if (departure.kind === 'killed') return end(context, client, project, terminal.id)
  if (departure.kind === 'detached')
    return context.note(`\nIt keeps running. Come back with: stq shell ${project} --attach ${terminal.id}`)
  if (departure.exit.code === null) context.note(`\n${await whyEnded(context, client, project, terminal.id)}`)
  const why = limitNote(departure.exit)
  if (why !== null) context.note(`\n${why}`)
  const code = exitCodeOfProgram(departure.exit)
  if (code !== 0) throw new ProgramEnded(code)
}

async function open(
  context: Context,
  client: Client,
  project: string,
  flags: ShellFlags,
  program: readonly string[] | null,
): Promise<Terminal> {
  const { columns, rows } = context.world.stdout
  const body = {
    workload: flags.workload,
    cols: Math.min(500, Math.max(2, columns || 80)),
    rows: Math.min(300, Math.max(1, rows || 24)),
    ...(program === null || program.length === 0 ? {} : { command: [...program] }),
  }
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  return client.call('createTerminal', { params: { id: project }, body }, call)
}

async function find(context: Context, client: Client, project: string, wanted: string | true): Promise<Terminal> {
  const terminals = await all(context, client, project)
  const running = terminals.filter(({ state }) => state === 'running')
  const found =
    wanted === true
      ? running.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))[0]
      : terminals.find(({ id }) => id === wanted)
  if (found !== undefined) return found
  const near =
    wanted === true
      ? null
      : nearest(
          wanted,
          running.map(({ id }) => id),
        )
  const see = `See: stq shell ${project} --list`
  throw new CliError(wanted === true ? 'No terminal is open.' : `There is no terminal "${wanted}".`, {
    exitCode: exitCodes.notFound,
    hint: near === null ? see : `Did you mean "${near}"? ${see}`,
  })
}

async function all(context: Context, client: Client, project: string): Promise<readonly Terminal[]> {
  return (await client.call('listTerminals', { params: { id: project } }, { signal: context.signal })).items
}

async function showList(context: Context, client: Client, project: string): Promise<void> {
  const items = await all(context, client, project)
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ id }) => id).join('\n')
    if (items.length === 0) return 'No terminal is open.'
    const rows = items.map((terminal) => [
      terminal.id,
      stateCell(terminal.state === 'ended' ? 'stopped' : terminal.state, context.style.colors),
      ago(terminal.createdAt, context.world.now()),
      String(terminal.viewers),
      plainText(terminal.workload ?? '-'),
      plainText(terminal.actor),
      plainText(terminal.title),
    ])
    return table(['TERMINAL', 'STATE', 'OPENED', 'VIEWERS', 'WORKLOAD', 'BY', 'WHAT'], rows, context.style)
  })
}

async function end(context: Context, client: Client, project: string, term: string): Promise<void> {
  await client.call('endTerminal', { params: { id: project, term } }, { signal: context.signal })
  context.note(`${term} is ended.`)
}

const causes: Readonly<Record<string, string>> = {
  cancelled: 'Someone ended it.',
  timeout: 'It ended: its time was over.',
  idle: 'It ended: it was idle for too long.',
  lost: 'It is lost: the machine or its process went down.',
}

async function whyEnded(context: Context, client: Client, project: string, term: string): Promise<string> {
  const found = await client
    .call('getTerminal', { params: { id: project, term } }, { signal: context.signal })
    .catch(() => null)
  return causes[found?.cause ?? ''] ?? 'It has ended.'
}
