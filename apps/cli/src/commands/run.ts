import { randomUUID } from 'node:crypto'
import type { Client } from '@stackquay/client'
import type { Action } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { plainText } from '../output/plain-text.ts'
import { table } from '../output/table.ts'
import { exitCodeOfProgram, ProgramEnded, runningProgram } from '../program-end.ts'
import { confirm } from '../prompt.ts'
import { listRuns } from '../runs/list-runs.ts'
import { endOf, seconds } from '../runs/run-text.ts'
import { runToEnd } from '../runs/run-to-end.ts'
import { findTarget, itemNamed } from '../runs/target.ts'
import { streamingClient } from '../streaming-client.ts'

interface RunFlags {
  readonly list?: boolean
  readonly history?: boolean
  readonly detach?: boolean
  readonly yes?: boolean
}

export const define: Define = (command, context) =>
  command
    .argument('[project]', 'id or slug; without it the project of this folder')
    .argument('[action]', 'what to run; without it, what there is')
    .option('--list', 'show what can be run, and why something cannot')
    .option('--history', 'show earlier runs')
    .option('--detach', 'start it, print its id, and leave it running')
    .option('-y, --yes', 'do not ask before an action that may delete data')
    .addHelpText(
      'after',
      `
An action is named by its id (node.build), its label ("npm run build"), or "build" alone where that is clear.
Its output comes on standard output and standard error, and the exit code is its own (128 and the signal's number when a
signal ended it). 125: it could not be run. Ctrl-C ends it and waits for that, a second Ctrl-C leaves it running; a lost
connection does neither.

  stq run shop build
  stq run shop --list`,
    )
    .action((project: string | undefined, action: string | undefined, flags: RunFlags) =>
      asProgram(flags, () => run(context(), project, action, flags)),
    )

/** A list has the exit codes of every other command. */
function asProgram({ list, history }: RunFlags, act: () => Promise<void>): Promise<void> {
  return list === true || history === true ? act() : runningProgram(act)
}

async function run(context: Context, first: string | undefined, second: string | undefined, flags: RunFlags) {
  const client = await streamingClient(context)
  const list = async (id: string) =>
    (await client.call('listActions', { params: { id } }, { signal: context.signal })).items
  const { project, items, name } = await findTarget(context, client, [first, second], list)
  if (flags.history === true) {
    const only = name === null ? {} : { name: itemNamed(items, name, named(project)).id }
    return listRuns(context, client, project, { kind: 'action', limit: 20, ...only })
  }
  if (name === null || flags.list === true) return showList(context, items)
  const action = itemNamed(items, name, named(project))
  if (!action.available) throw unavailable(action)
  if (action.destructive)
    await confirm(context.world, `"${plainText(action.label)}" may delete data of ${project}.`, flags.yes)
  if (flags.detach === true) return detach(context, client, project, action)

  const ended = await runToEnd(context, client, (options) => client.startRun(project, { action: action.id }, options))
  const code = exitCodeOfProgram({ code: ended.run.exitCode, signal: ended.run.signal })
  const { colors } = context.noteStyle
  const sign = code === 0 ? colors.green('✔') : colors.red('✖')
  context.note(`${sign} ${plainText(action.label)}: ${endOf(ended.run)}, ${seconds(ended.run)}`)
  if (context.json) context.result(ended.run, () => '')
  if (code !== 0) throw new ProgramEnded(code)
}

async function detach(context: Context, client: Client, project: string, action: Action): Promise<void> {
  const params = { id: project, action: action.id }
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const started = await client.call('runAction', { params }, call)
  context.note(`It runs. Follow it with: stq runs follow ${started.id} --project ${project}`)
  context.result(started, () => started.id)
}

function showList(context: Context, items: readonly Action[]): void {
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ id }) => id).join('\n')
    if (items.length === 0) return 'Nothing was found in its source that could be run. Any program: stq exec'
    const { colors } = context.style
    const rows = items.map((action) => [
      { text: action.id, ...(action.available ? {} : { paint: colors.dim }) },
      plainText(action.label),
      action.available
        ? plainText(`${action.summary}${action.destructive ? ' (may delete data)' : ''}`)
        : { text: plainText(`✖ ${action.reason ?? 'not available'}`), paint: colors.yellow },
    ])
    return table(['ACTION', 'RUNS', 'WHAT'], rows, context.style)
  })
}

function unavailable({ label, reason }: Action): CliError {
  return new CliError(`"${label}" cannot run now: ${reason ?? 'the service does not say why.'}`, {
    exitCode: exitCodes.notRun,
  })
}

function named(project: string) {
  return { what: 'action', command: `stq run ${project}` }
}
