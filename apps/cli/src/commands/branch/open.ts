import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { showUrl } from '../open.ts'

interface OpenFlags {
  readonly browser?: boolean
}

export const defineOpen: Define = (command, context) =>
  command
    .summary('print the URL of a branch environment and open it in the browser')
    .description('Print the URL of a branch environment and open it in the browser.')
    .argument('<branch>', 'its branch')
    .argument('[project]', projectArgument)
    .option('--no-browser', 'only print the URL')
    .action((branch: string, project: string | undefined, flags: OpenFlags) => run(context(), branch, project, flags))

async function run(context: Context, branch: string, named: string | undefined, flags: OpenFlags): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  const { items } = await client.call('listBranches', { params: { id } }, { signal: context.signal })
  const url = items.find((one) => one.branch === branch)?.url ?? null
  if (url === null)
    throw usageError(
      `The branch "${branch}" has no environment.`,
      `Make it: stq branch create ${[branch, ...(named === undefined ? [] : [named])].join(' ')}`,
    )
  showUrl(context, url, flags)
}
