import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectAndHost } from '../../network/host-arguments.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'

export const defineRemove: Define = (command, context) =>
  command
    .usage('[project] <host>')
    .argument('[project]', projectArgument)
    .argument('[host]', 'as "stq domain list" shows it')
    .summary('remove a host name')
    .description('Remove a host name that was added. It stops answering at once, and another project may have it.')
    .action((first: string | undefined, second: string | undefined) => run(context(), first, second))

async function run(context: Context, first: string | undefined, second: string | undefined): Promise<void> {
  const { project, host } = projectAndHost(first, second)
  const client = await context.client()
  const id = await projectRef(context, project)
  await client.call('removeDomain', { params: { id, host } }, { signal: context.signal })
  noteDone(context, `${plainText(host)} is removed`)
  if (context.json) context.result({ project: id, removed: host }, () => '')
}
