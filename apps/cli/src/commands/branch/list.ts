import type { BranchEnvironment } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list branch environments of a project')
    .description('List branch environments of a project, and pull requests of forks that wait to be approved.')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  const answer = await client.call('listBranches', { params: { id } }, { signal: context.signal })
  context.result(answer, () => {
    if (context.quiet) return answer.items.map(({ branch }) => plainText(branch)).join('\n')
    if (answer.items.length === 0)
      return `No branch environments. Make one: stq branch create <branch>${named === undefined ? '' : ` ${plainText(named)}`}`
    const rows = answer.items.map((one) => [
      plainText(one.branch),
      one.state === 'awaiting-approval' ? `waits: --head ${one.pullRequest?.waiting}` : one.state,
      one.commit?.slice(0, 10) ?? '',
      plainText(one.url ?? one.pullRequest?.url ?? ''),
      plainText(noteOf(one)),
    ])
    return table(['BRANCH', 'STATE', 'COMMIT', 'URL', 'NOTE'], rows, context.style)
  })
}

function noteOf({ warning, gone, removeAt, pullRequest }: BranchEnvironment): string {
  if (warning !== null) return warning
  if (gone !== null) return `branch is gone; to the trash on ${removeAt?.slice(0, 10)}`
  if (pullRequest === null) return ''
  return pullRequest.waiting === null || pullRequest.waiting === pullRequest.head
    ? `request ${pullRequest.number}`
    : `request ${pullRequest.number}; ${pullRequest.waiting} waits to be approved`
}
