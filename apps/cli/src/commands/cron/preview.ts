import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { wholeNumber } from '../../options.ts'

interface PreviewFlags {
  readonly timezone?: string
  readonly count: string
}

export const definePreview: Define = (command, context) =>
  command
    .summary('show the next times of a schedule')
    .description('Show the next times of a schedule, and change nothing.')
    .argument('<schedule>', 'in quotes: minute, hour, day of month, month and day of week')
    .option('--timezone <zone>', 'such as Europe/Berlin (default: the one of this machine)')
    .option('--count <number>', 'how many, at most 20', '5')
    .action((schedule: string, flags: PreviewFlags) => run(context(), schedule, flags))

async function run(context: Context, schedule: string, flags: PreviewFlags): Promise<void> {
  const timezone = flags.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
  const body = { schedule, timezone, count: wholeNumber(flags.count, '--count', 1, 20) }
  const client = await context.client()
  const preview = await client.call('previewCron', { body }, { signal: context.signal })
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, dateStyle: 'full', timeStyle: 'short' })
  context.result(preview, () =>
    preview.times.map((time) => (context.quiet ? time : `${time}  ${format.format(Date.parse(time))}`)).join('\n'),
  )
}
