import type { BackupScheduleView } from '@stackquay/contract'
import { scheduleText } from '../../../backups/schedule-text.ts'
import { addScheduleOptions, cronArgument, type ScheduleFlags, settingsIn } from '../../../backups/set-schedule.ts'
import { noteDone } from '../../../change-project.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { usageError } from '../../../errors.ts'

interface Flags extends ScheduleFlags {
  readonly verify?: string
}

export const defineSet: Define = (command, context) => {
  command
    .summary('set when backups are made by themselves, and how many stay')
    .description(
      'Set when backups are made by themselves, and how many stay. What is not named stays as it is; of a new schedule it takes its default.',
    )
    .argument('<project>', 'id or slug')
    .argument('<cron>', cronArgument)
    .option('--verify <which>', 'always, weekly or never (default: weekly)')
  addScheduleOptions(command).action((project: string, cron: string, flags: Flags) =>
    set(context(), project, cron, flags),
  )
}

async function set(context: Context, id: string, cron: string, flags: Flags): Promise<void> {
  const verify = flags.verify === undefined ? undefined : policyOf(flags.verify)
  const client = await context.client()
  const { schedule: before } = await client.call('getBackupSchedule', { params: { id } }, { signal: context.signal })
  const settings = await settingsIn(cron, flags, before, context)
  const verified = verify ?? before?.verify
  const body = { ...settings, ...(verified === undefined ? {} : { verify: verified }) }
  const state = await client.call('putBackupSchedule', { params: { id }, body }, { signal: context.signal })
  noteDone(context, `Backups of ${id} are made by schedule`)
  context.result(state, () => (state.schedule === null || context.quiet ? '' : scheduleText(state.schedule, context)))
}

/** The contract's list, which the compiler holds this against: no command loads the schemas for it. */
const policies: Readonly<Record<BackupScheduleView['verify'], true>> = { always: true, weekly: true, never: true }

function policyOf(text: string): BackupScheduleView['verify'] {
  if (Object.hasOwn(policies, text)) return text as BackupScheduleView['verify']
  throw usageError(`--verify takes ${Object.keys(policies).join(', ')}, and "${text}" is none of them.`)
}
