import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'

export const defineEnd: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .summary('end the share of a project')
    .description('End the share of a project at once, with every connection over it.')
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  await client.call('endShare', { params: { id } }, { signal: context.signal })
  noteDone(context, `${id} is not shared any more`)
  if (context.json) context.result({ project: id, share: null }, () => '')
}
