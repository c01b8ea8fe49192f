import type { CallResult } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { shareText } from '../../network/share-text.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'

type Shown = CallResult<'getShare'>

export const defineShow: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .summary('show the share of a project, and what it can be reached through')
    .description('Show the share of a project, and through what a share can be reached from outside.')
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const shown = await client.call('getShare', { params: { id } }, { signal: context.signal })
  context.result(shown, () => {
    if (context.quiet) return plainText(shown.share?.url ?? '')
    const share = shown.share === null ? `Not shared. To share it: stq share ${id}` : shareText(shown.share, context)
    return `${share}\n\n${providersText(shown.providers, context)}`
  })
}

function providersText(providers: Shown['providers'], { style }: Context): string {
  const rows = providers.map(({ name, available, summary, reason, install }) => [
    name,
    available ? 'yes' : 'no',
    plainText(available ? summary : [reason, install].filter((text) => text !== null).join(' ')),
  ])
  return table(['PROVIDER', 'HERE', 'WHAT IT DOES'], rows, style)
}
