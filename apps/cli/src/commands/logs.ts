import type { Client } from '@stackquay/client'
import type { LogLine } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { projectRef } from '../find-project.ts'
import { projectArgument, wholeNumber } from '../options.ts'
import { jsonText } from '../output/json.ts'
import { logText, plainText } from '../output/plain-text.ts'
import { parseMoment } from '../output/time.ts'
import type { Define } from './index.ts'

interface LogFlags {
  readonly follow?: boolean
  readonly workload?: string
  readonly tail?: string
  readonly since?: string
  readonly grep?: string
  readonly timestamps?: boolean
  readonly prefix?: boolean
}

/** As many as the service gives at once. */
const most = 5000

export const define: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .option('-f, --follow', 'go on with new lines until Ctrl-C')
    .option('-w, --workload <name>', 'only this workload')
    .option('-n, --tail <count>', 'so many of the newest lines, at most 5000 (default: 200; with --since 5000)')
    .option('--since <when>', 'only lines after this: 10m, 2h, 2026-11-20T08:00:00Z')
    .option('--grep <text>', 'only lines that contain this text, whatever the case')
    .option('-t, --timestamps', 'show when each line was written')
    .option('--no-prefix', 'leave out the workload’s name')
    .addHelpText('after', '\nWith --json each line is a JSON object of its own.')
    .action((project: string | undefined, flags: LogFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: LogFlags): Promise<void> {
  const tail = flags.tail === undefined ? undefined : wholeNumber(flags.tail, '--tail', 1, 5000)
  const since = flags.since === undefined ? undefined : parseMoment(flags.since, context.world.now())
  if (since === null) throw usageError(`"${flags.since}" is not a time.`, 'Examples: 10m, 2h, 2026-11-20T08:00:00Z')
  const client = await context.client()
  const id = await projectRef(context, named)
  const print = printer(context, flags)
  const wanted = { tail: tail ?? (since === undefined ? 200 : most), since, grep: flags.grep?.toLowerCase() }
  if (flags.follow === true) return follow(context, client, id, flags, wanted, print)

  const query = { workload: flags.workload, since, q: flags.grep, limit: wanted.tail }
  const { items } = await client.call('getProjectLogs', { params: { id }, query }, { signal: context.signal })
  print(items)
  if (tail === undefined && items.length === most)
    context.note(`These are the newest ${most} lines; there may be older ones.`)
}

interface Wanted {
  readonly tail: number
  readonly since: string | undefined
  readonly grep: string | undefined
}

type Print = (lines: readonly LogLine[]) => void

/** The stream knows nothing of times and texts, so what is not wanted is left out here. */
async function follow(
  context: Context,
  client: Client,
  id: string,
  flags: LogFlags,
  wanted: Wanted,
  print: Print,
): Promise<never> {
  const { tail, grep } = wanted
  const from = wanted.since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(wanted.since)
  const isWanted = ({ text, time }: LogLine) =>
    Date.parse(time) >= from && (grep === undefined || text.toLowerCase().includes(grep))
  await client.followLogs(
    id,
    { workload: flags.workload, tail },
    {
      signal: context.signal,
      onLines: (lines) => print(lines.filter(isWanted)),
      onState: (state) => {
        if (state === 'retrying') context.note(context.noteStyle.colors.dim('… connection lost, trying again'))
      },
    },
  )
  throw new CliError('', { exitCode: exitCodes.interrupted })
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
    if (lines.length === 0) return
    for (const { workload } of lines) prefixOf(workload)
    const text = lines.map((line) => {
      if (context.json) return jsonText(line)
      const time = flags.timestamps === true ? `${colors.dim(line.time)} ` : ''
      return `${prefixOf(line.workload)}${time}${logText(line.text, colors.isColorSupported)}`
    })
    stdout.write(`${text.join('\n')}\n`)
  }
}
