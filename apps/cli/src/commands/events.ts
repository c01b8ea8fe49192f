import type { EventRecord } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { wholeNumber } from '../options.ts'
import { jsonText } from '../output/json.ts'
import { fit, plainText } from '../output/plain-text.ts'
import { streamingClient } from '../streaming-client.ts'

interface EventFlags {
  readonly project?: string
  readonly types?: string
  readonly after?: string
}

export const define: Define = (command, context) =>
  command
    .option('-p, --project <project>', 'only of this project')
    .option('--types <types>', 'only these, with commas between: run.changed,project.*')
    .option('--after <seq>', 'begin behind this event, as far as it is kept; without it from now on')
    .addHelpText(
      'after',
      '\nUntil Ctrl-C. With --json each event is a JSON object of its own; its "seq" is for --after.',
    )
    .action((flags: EventFlags) => run(context(), flags))

async function run(context: Context, flags: EventFlags): Promise<never> {
  const after = flags.after === undefined ? undefined : wholeNumber(flags.after, '--after', 0, 999_999_999_999_999)
  const types = flags.types?.split(',').map((type) => type.trim())
  const client = await streamingClient(context)
  const { stdout } = context.world
  const { dim } = context.noteStyle.colors
  await client.followEvents(
    { after, project: flags.project, types },
    {
      signal: context.signal,
      onEvent: (event) => void stdout.write(`${context.json ? jsonText(event) : eventLine(event, context)}\n`),
      onGap: () => context.note(dim('… events may be missing: they are no longer kept')),
      onState: (state) => {
        if (state === 'retrying') context.note(dim('… connection lost, reconnecting'))
      },
    },
  )
  throw new CliError('', { exitCode: exitCodes.interrupted })
}

function eventLine({ time, type, project, data }: EventRecord, { style }: Context): string {
  const head = `${time.replace(/\.\d+/, '')}  ${type.padEnd(17)}  ${plainText(project ?? '-')}  `
  const text = plainText(jsonText(data))
  return `${style.colors.dim(head.slice(0, 22))}${head.slice(22)}${style.columns === null ? text : fit(text, Math.max(20, style.columns - head.length))}`
}
