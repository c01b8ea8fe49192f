import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { finishProject, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions } from '../../options.ts'

interface RestoreFlags extends WaitFlags {
  readonly slug?: string
  readonly leaveOutHosts?: boolean
}

export const defineRestore: Define = (command, context) => {
  command
    .summary('bring something back')
    .description('Bring a deleted project back as it was, stopped; or removed data to its project.')
    .argument('<item>', 'id: see stq trash list')
    .option('--slug <slug>', 'another slug for a project whose own is taken')
    .option('--leave-out-hosts', 'without host names that other projects have by now')
  addWaitOptions(command).action((item: string, flags: RestoreFlags) => run(context(), item, flags))
}

async function run(context: Context, item: string, flags: RestoreFlags): Promise<void> {
  const client = await context.client()
  const body = {
    ...(flags.slug === undefined ? {} : { slug: flags.slug }),
    ...(flags.leaveOutHosts === true ? { leaveOutHosts: true } : {}),
  }
  const restored = await client.call('restoreTrash', { params: { item }, body }, { signal: context.signal })
  await finishProject(context, restored, flags)
  const project = await client.call('getProject', { params: { id: restored.id } }, { signal: context.signal })
  context.result(project, () => (context.quiet ? project.slug : `${project.slug} ${project.url}`))
}
