import { randomUUID } from 'node:crypto'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectAndHost } from '../../network/host-arguments.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'

export const defineAdd: Define = (command, context) =>
  command
    .usage('[project] <host> [options]')
    .argument('[project]', projectArgument)
    .argument('[host]', 'shop.example.org, *.example.org, bücher.example')
    .summary('add a host name')
    .description('Add a host name that no other project has. Its DNS decides where it points to.')
    .option('-w, --workload <name>', 'a workload with a page, instead of what owns the project’s URL')
    .action((first: string | undefined, second: string | undefined, flags: { workload?: string }) =>
      run(context(), first, second, flags),
    )

async function run(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  { workload }: { workload?: string },
): Promise<void> {
  const { project, host } = projectAndHost(first, second)
  const client = await context.client()
  const id = await projectRef(context, project)
  const body = { host, ...(workload === undefined ? {} : { workload }) }
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const added = await client.call('addDomain', { params: { id }, body }, call)
  noteDone(context, `${plainText(added.display)} leads to ${id}`)
  context.result(added, () => plainText(added.url))
}
