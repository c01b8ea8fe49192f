import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'

export const defineRemove: Define = (command, context) =>
  addChangeOptions(command)
    .summary('stop a worker and forget it')
    .description('Stop a worker and forget its settings. To keep them, switch it off: stq worker set --off')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the worker')
    .action((project: string, name: string, flags: ChangeFlags) => run(context(), project, name, flags))

async function run(context: Context, id: string, name: string, flags: ChangeFlags): Promise<void> {
  const project = await changeProject(context, 'deleteWorker', { params: { id, name } }, flags)
  if (project === null) return
  noteDone(context, `The worker ${name} is removed`)
  if (context.json) context.result({ project: project.slug, removed: name }, () => '')
}
