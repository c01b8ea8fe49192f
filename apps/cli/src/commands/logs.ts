import { resolve } from 'node:path'
import type { Client, FollowLogsQuery } from '@stackquay/client'
import { fillPath } from '@stackquay/client/address'
import { routes } from '@stackquay/client/routes'
import { refuse, send } from '@stackquay/client/transport'
import type { LogLine } from '@stackquay/contract'
import { Option } from 'commander'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { projectRef } from '../find-project.ts'
import { projectArgument, wholeNumber } from '../options.ts'
import { jsonText } from '../output/json.ts'
import { logText, plainText } from '../output/plain-text.ts'
import { size } from '../output/size.ts'
import { parseMoment } from '../output/time.ts'
import { whole, writeWholeFile } from '../output/whole-file.ts'
import { writeAll } from '../output/write-all.ts'
import { writeBytes } from '../output/write-bytes.ts'
import { streamingClient } from '../streaming-client.ts'
import { searchLogs } from './logs/search.ts'
import { type StatsQuery, showStats } from './logs/stats.ts'

interface LogFlags {
  readonly follow?: boolean
  readonly workload?: string
  readonly tail?: string
  readonly since?: string
  readonly until?: string
  readonly grep?: string
  readonly regex?: boolean
  readonly level?: (typeof levels)[number]
  readonly output?: string
  readonly stats?: boolean
  readonly all?: boolean
  readonly timestamps?: boolean
  readonly prefix?: boolean
}

/** As many as the service gives at once. */
const most = 5000
const levels = ['error', 'warning', 'info', 'debug'] as const

export const define: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .option('-f, --follow', 'go on with new lines until Ctrl-C')
    .option('-w, --workload <name>', 'only this workload')
    .option('-n, --tail <count>', 'so many of the newest lines, at most 5000 (default: 200; with --since 5000)')
    .option('--since <when>', 'only lines after this: 10m, 2h, 2026-11-20T08:00:00Z')
    .option('--until <when>', 'only lines before this')
    .option('--grep <text>', 'only lines that contain this text, whatever the case')
    .option('--regex', 'what --grep says is a regular expression (JavaScript’s)')
    .addOption(new Option('--level <level>', 'only lines this bad and worse, as far as they tell').choices(levels))
    .option(
      '-o, --output <file>',
      'write all kept lines that fit to a file, readable for you alone; "-" is standard output',
    )
    .option('--all', 'search the logs of all projects for --grep, newest first')
    .option('--stats', 'show how many lines of each level there were, and the most frequent errors (default: of 24h)')
    .option('-t, --timestamps', 'show when each line was written')
    .option('--no-prefix', 'leave out the workload’s name')
    .addHelpText('after', '\nWith --json each line is a JSON object of its own, also in the file of --output.')
    .action((project: string | undefined, flags: LogFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: LogFlags): Promise<void> {
  const tail = flags.tail === undefined ? undefined : wholeNumber(flags.tail, '--tail', 1, most)
  const filters = filtersOf(context, flags)
  refuseContradictions(flags)
  if (flags.all === true) return searchAll(context, named, filters, tail ?? 50)
  if (flags.stats === true) return showStats(context, await projectRef(context, named), statsQuery(filters))
  const client = flags.follow === true ? await streamingClient(context) : await context.client()
  const id = await projectRef(context, named)
  if (flags.output !== undefined) return download(context, id, filters, flags.output)
  const print = printer(context, flags)
  const wanted = tail ?? (filters.since === undefined ? 200 : most)
  if (flags.follow === true) return follow(context, client, id, { ...filters, tail: wanted }, print)

  const query = { ...filters, limit: wanted }
  const { items } = await client.call('getProjectLogs', { params: { id }, query }, { signal: context.signal })
  await print(items)
  if (tail === undefined && items.length === most)
    context.note(`These are the newest ${most} lines; there may be older ones. All of them: --output <file>`)
}

function searchAll(context: Context, named: string | undefined, filters: Filters, most: number): Promise<void> {
  const { workload, q, ...query } = filters
  if (q === undefined || workload !== undefined)
    throw usageError('--all searches for --grep, in all workloads.', 'An example: stq logs --all --grep timeout')
  return searchLogs(context, { ...query, q, projects: named }, most)
}

function statsQuery({ workload, since, until, q, level }: Filters): StatsQuery {
  if (q !== undefined || level !== undefined)
    throw usageError('--stats counts all lines; it goes without a filter of text or level.')
  return { workload, since, until }
}

type Print = (lines: readonly LogLine[]) => void | Promise<void>
type Filters = ReturnType<typeof filtersOf>

function filtersOf(context: Context, { workload, since, until, grep, regex, level }: LogFlags) {
  if (regex === true && grep === undefined) throw usageError('--regex says how to read --grep, which is missing.')
  return {
    workload,
    since: moment(context, since),
    until: moment(context, until),
    q: grep,
    regex: regex === true ? ('true' as const) : undefined,
    level,
  }
}

function moment({ world }: Context, text: string | undefined): string | undefined {
  const found = text === undefined ? undefined : parseMoment(text, world.now())
  if (found === null) throw usageError(`"${text}" is not a time.`, 'Examples: 10m, 2h, 2026-11-20T08:00:00Z')
  return found
}

function refuseContradictions({ follow, until, output, tail, stats, all }: LogFlags): void {
  if (all === true && (follow === true || output !== undefined || stats === true))
    throw usageError('--all goes with none of --follow, --output and --stats.')
  if (stats === true && (follow === true || output !== undefined || tail !== undefined))
    throw usageError('--stats goes with none of --follow, --output and --tail.')
  if (follow === true && until !== undefined) throw usageError('--follow goes on, and --until ends: choose one.')
  if (output !== undefined && (follow === true || tail !== undefined))
    throw usageError('--output writes all lines that are kept; it goes with neither --follow nor --tail.')
}

async function follow(
  context: Context,
  client: Client,
  id: string,
  query: FollowLogsQuery,
  print: Print,
): Promise<never> {
  await client.followLogs(id, query, {
    signal: context.signal,
    onLines: print,
    onState: (state) => {
      if (state === 'retrying') context.note(context.noteStyle.colors.dim('… connection lost, reconnecting'))
    },
  })
  throw new CliError('', { exitCode: exitCodes.interrupted })
}

async function download(context: Context, id: string, filters: Filters, output: string): Promise<void> {
  const connection = await context.connection()
  const path = fillPath(routes.downloadLogs.path, { id })
  const query = { ...filters, format: context.json ? 'jsonl' : 'text' }
  const response = await send(connection, { method: 'GET', path, query }, { signal: context.signal })
  if (!response.ok || response.body === null) return refuse(connection, response)
  const chunks = whole('The log', response.body, context.signal)
  if (output === '-') return writeBytes(context, chunks)
  const bytes = await writeWholeFile(resolve(context.world.cwd, output), chunks)
  context.note(`${context.noteStyle.colors.green('✔')} ${output} is written, ${size(bytes)}`)
}

function printer(context: Context, flags: LogFlags): Print {
  const { colors } = context.style
  const { stdout } = context.world
  const palette = [colors.cyan, colors.magenta, colors.green, colors.yellow, colors.blue]
  const paints = new Map<string, (text: string) => string>()
  let width = 0
  const prefixOf = (workload: string) => {
    if (flags.prefix === false || flags.workload !== undefined) return ''
    const paint = paints.get(workload) ?? palette[paints.size % palette.length]!
    paints.set(workload, paint)
    width = Math.max(width, workload.length)
    return `${paint(plainText(workload).padEnd(width))} ${colors.dim('|')} `
  }
  return (lines) => {
    if (lines.length === 0) return undefined
    for (const { workload } of lines) prefixOf(workload)
    const text = lines.map((line) => {
      if (context.json) return jsonText(line)
      const time = flags.timestamps === true ? `${colors.dim(line.time)} ` : ''
      return `${prefixOf(line.workload)}${time}${logText(line.text, colors.isColorSupported)}`
    })
    return writeAll(stdout, `${text.join('\n')}\n`)
  }
}
