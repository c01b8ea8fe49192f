import { scheduleText } from '../../backups/schedule-text.ts'
import { addScheduleOptions, cronArgument, type ScheduleFlags, settingsIn } from '../../backups/set-schedule.ts'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'

export const defineSchedule: Define = (command, context) => {
  command.summary('show, set or clear when backups of the instance are made by themselves')
  command
    .command('show', { isDefault: true })
    .summary('show when backups of the instance are made by themselves, and whether one is late')
    .action(() => show(context()))
  const setting = command
    .command('set')
    .summary('set when backups of the instance are made by themselves, and how many stay')
    .description(
      'Set when backups of the instance are made by themselves, and how many stay. What is not named stays as it is; of a new schedule it takes its default.',
    )
    .argument('<cron>', cronArgument)
  addScheduleOptions(setting).action((cron: string, flags: ScheduleFlags) => set(context(), cron, flags))
  command
    .command('clear')
    .summary('make no more backups of the instance by schedule; those that are there stay')
    .action(() => clear(context()))
}

async function show(context: Context): Promise<void> {
  const client = await context.client()
  const state = await client.call('getInstanceBackupSchedule', {}, { signal: context.signal })
  context.result(state, () =>
    state.schedule === null
      ? 'The instance has no schedule. Set one with: stq instance backup schedule set "15 2 * * *" --target <name>'
      : scheduleText(state.schedule, context),
  )
}

async function set(context: Context, cron: string, flags: ScheduleFlags): Promise<void> {
  const client = await context.client()
  const { schedule: before } = await client.call('getInstanceBackupSchedule', {}, { signal: context.signal })
  const body = await settingsIn(cron, flags, before, context)
  const state = await client.call('putInstanceBackupSchedule', { body }, { signal: context.signal })
  noteDone(context, 'Backups of the instance are made by schedule')
  context.result(state, () => (state.schedule === null || context.quiet ? '' : scheduleText(state.schedule, context)))
}

async function clear(context: Context): Promise<void> {
  const client = await context.client()
  await client.call('deleteInstanceBackupSchedule', {}, { signal: context.signal })
  noteDone(context, 'The instance has no schedule now; its backups stay')
  if (context.json) context.result({ schedule: null }, () => '')
}
