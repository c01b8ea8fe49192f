import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'

export const defineRemove: Define = (command, context) =>
  addChangeOptions(command)
    .summary('forget a cron job')
    .description('Forget a cron job. A run that is under way goes on. To keep its settings: stq cron set --off')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the cron job')
    .action((project: string, name: string, flags: ChangeFlags) => run(context(), project, name, flags))

async function run(context: Context, id: string, name: string, flags: ChangeFlags): Promise<void> {
  const project = await changeProject(context, 'deleteCronJob', { params: { id, name } }, flags)
  if (project === null) return
  noteDone(context, `The cron job ${name} is removed`)
  if (context.json) context.result({ project: project.slug, removed: name }, () => '')
}
