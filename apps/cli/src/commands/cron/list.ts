import type { CronView } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { stateCell } from '../../output/state.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'
import { commandLine } from '../../work/command-text.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list cron jobs with their next time and last run')
    .description(
      'List the cron jobs of a project with their next time and last run, and what its dependencies suggest.',
    )
    .argument('[project]', projectArgument)
    .addHelpText('after', '\nAll runs of a job: stq runs list --kind cron --name <job>')
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const list = await client.call('listCronJobs', { params: { id } }, { signal: context.signal })
  context.result(list, () => {
    if (context.quiet) return list.items.map(({ name }) => name).join('\n')
    const { colors } = context.style
    const rows = list.items.map((job) => [
      job.name,
      plainText(job.schedule),
      plainText(job.timezone),
      nextOf(job),
      ...lastOf(job, context),
      commandLine(job.command),
    ])
    const items =
      rows.length === 0
        ? 'No cron jobs. Add one with: stq cron set <project> <name> "0 3 * * *" -- <command>'
        : table(['JOB', 'SCHEDULE', 'TIME ZONE', 'NEXT', 'LAST', 'WHEN', 'COMMAND'], rows, context.style)
    const presets = list.presets.map(
      ({ name, label, schedule, command }) =>
        `${plainText(label)}: stq cron set ${id} ${name} "${plainText(schedule)}" -- ${commandLine(command)}`,
    )
    return presets.length === 0
      ? items
      : `${items}\n\n${colors.dim('Its dependencies suggest:')}\n${presets.join('\n')}`
  })
}

function nextOf({ enabled, nextAt }: CronView): string {
  return nextAt ?? (enabled ? 'project is stopped' : 'off')
}

function lastOf({ lastRun, lastSkip }: CronView, { style, world }: Context) {
  // What was passed over after the last run is the news.
  if (lastSkip !== null && (lastRun === null || lastSkip.at > lastRun.createdAt))
    return [{ text: 'skipped', paint: style.colors.yellow }, ago(lastSkip.at, world.now())]
  if (lastRun === null) return ['-', '-']
  return [stateCell(lastRun.state, style.colors), ago(lastRun.createdAt, world.now())]
}
