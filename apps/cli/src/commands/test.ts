import type { Client } from '@stackquay/client'
import type { TestCase, TestSuite } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { plainText } from '../output/plain-text.ts'
import { table } from '../output/table.ts'
import { ago } from '../output/time.ts'
import { ProgramEnded, runningProgram } from '../program-end.ts'
import { listRuns } from '../runs/list-runs.ts'
import { endOf, testSummary } from '../runs/run-text.ts'
import { type EndedRun, runToEnd } from '../runs/run-to-end.ts'
import { findTarget, itemNamed } from '../runs/target.ts'
import { streamingClient } from '../streaming-client.ts'

interface TestFlags {
  readonly filter?: string
  readonly list?: boolean
  readonly history?: boolean
}

export const define: Define = (command, context) =>
  command
    .argument('[project]', 'id or slug; without it the project of this folder')
    .argument('[suite]', 'which tests; without it all that can run, one suite after the other')
    .option('--filter <text>', 'which tests of the suite, in the words of its runner (see --list)')
    .option('--list', 'show the suites that were found, why, and how each is filtered')
    .option('--history', 'show earlier runs')
    .addHelpText(
      'after',
      `
A run gets databases of its own: no test can change the data of the project. Output comes as it is printed; at the end
stand the failed tests with file and line. Exit code 0: all passed; 1: tests failed; 125: they could not be run. Ctrl-C
ends the run and waits for that, a second Ctrl-C leaves it running.
With --json: {"items": [{"suite", "run", "failed"}]}, and no output of the tests.`,
    )
    .action((project: string | undefined, suite: string | undefined, flags: TestFlags) =>
      asProgram(flags, () => run(context(), project, suite, flags)),
    )

/** A list has the exit codes of every other command. */
function asProgram({ list, history }: TestFlags, act: () => Promise<void>): Promise<void> {
  return list === true || history === true ? act() : runningProgram(act)
}

async function run(context: Context, first: string | undefined, second: string | undefined, flags: TestFlags) {
  const client = await streamingClient(context)
  const list = async (id: string) =>
    (await client.call('listTests', { params: { id } }, { signal: context.signal })).suites
  const { project, items, name } = await findTarget(context, client, [first, second], list)
  const named = { what: 'test suite', command: `stq test ${project}` }
  const wanted = name === null ? null : itemNamed(items, name, named)
  if (flags.history === true) {
    const only = wanted === null ? {} : { name: wanted.id }
    return listRuns(context, client, project, { kind: 'test', limit: 20, ...only })
  }
  if (flags.list === true) return showList(context, items)
  const suites = toRun(items, wanted, flags, project)
  const ended: EndedRun[] = []
  for (const suite of suites) {
    if (suites.length > 1) context.note(context.noteStyle.colors.bold(`${plainText(suite.label)} (${suite.id})`))
    const what = { suite: suite.id, filter: flags.filter }
    const end = await runToEnd(context, client, (options) => client.startRun(project, what, options))
    const complete = { ...end, failed: await failedOf(context, client, project, end) }
    context.note(testSummary(complete, context.noteStyle.colors))
    ended.push(complete)
  }
  const result = ended.map((each, index) => ({ suite: suites[index]!.id, ...each }))
  if (context.json) context.result({ items: result }, () => '')
  if (ended.some((each) => each.run.state !== 'succeeded')) throw new ProgramEnded(exitCodes.failed)
}

function toRun(items: readonly TestSuite[], wanted: TestSuite | null, flags: TestFlags, project: string) {
  if (wanted !== null) {
    if (wanted.available) return [wanted]
    throw notRun(`"${wanted.label}" cannot run now: ${wanted.reason ?? 'the service does not say why.'}`)
  }
  const available = items.filter((suite) => suite.available)
  if (flags.filter !== undefined && available.length > 1)
    throw usageError('A filter is for one suite.', `Name it: ${available.map(({ id }) => id).join(', ')}`)
  if (available.length > 0) return available
  const why = items.map(({ id, reason }) => `${id}: ${reason ?? 'not available'}`)
  throw notRun(
    items.length === 0 ? `No tests were found in ${project}.` : `No suite of ${project} can run now. ${why.join('; ')}`,
  )
}

/** The stream names failed tests; where the results were read without it, they are asked for. */
async function failedOf(context: Context, client: Client, project: string, { run, failed }: EndedRun) {
  if (failed.length > 0 || (run.tests?.failed ?? 0) === 0) return failed
  const input = { params: { id: project, run: run.id }, query: { outcome: 'failed' as const, limit: 200 } }
  const page = await client.call('listTestCases', input, { signal: context.signal })
  return page.items as readonly TestCase[]
}

function showList(context: Context, items: readonly TestSuite[]): void {
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ id }) => id).join('\n')
    if (items.length === 0) return 'No tests were found in its source.'
    const { colors } = context.style
    const rows = items.map((suite) => [
      { text: suite.id, ...(suite.available ? {} : { paint: colors.dim }) },
      plainText(suite.label),
      suite.lastRun === null ? '-' : `${endOf(suite.lastRun)}, ${ago(suite.lastRun.createdAt, context.world.now())}`,
      suite.available
        ? plainText(suite.because)
        : { text: plainText(`✖ ${suite.reason ?? 'not available'}`), paint: colors.yellow },
    ])
    const filters = items.map(({ id, filterHelp }) => `--filter of ${id}: ${plainText(filterHelp)}`)
    return `${table(['SUITE', 'RUNS', 'LAST RUN', 'BECAUSE'], rows, context.style)}\n\n${filters.join('\n')}`
  })
}

function notRun(message: string): CliError {
  return new CliError(message, { exitCode: exitCodes.notRun })
}
