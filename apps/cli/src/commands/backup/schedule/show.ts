import { scheduleText } from '../../../backups/schedule-text.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { projectRef } from '../../../find-project.ts'
import { projectArgument } from '../../../options.ts'

export const defineShow: Define = (command, context) => {
  command
    .summary('show when backups are made by themselves, and whether one is late')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => show(context(), project))
}

async function show(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const state = await client.call('getBackupSchedule', { params: { id } }, { signal: context.signal })
  context.result(state, () =>
    state.schedule === null
      ? `${id} has no schedule. Set one with: stq backup schedule set ${id} "30 2 * * *"`
      : scheduleText(state.schedule, context),
  )
}
