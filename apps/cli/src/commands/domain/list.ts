import type { Domain } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'

export const defineList: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .summary('list host names')
    .description('List the host names under which a project answers.')
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const { items } = await client.call('listDomains', { params: { id } }, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ host }) => host).join('\n')
    if (items.length === 0) return 'No host names.'
    return table(['HOST', 'LEADS TO', 'KIND', 'URL'], items.map(row), context.style)
  })
}

function row({ host, display, workload, automatic, redirectsUntil, url }: Domain) {
  const shown = display === host ? host : `${display} (${host})`
  const kind =
    redirectsUntil !== null ? `redirects until ${redirectsUntil.slice(0, 10)}` : automatic ? 'automatic' : 'added'
  return [plainText(shown), workload ?? 'the project', kind, plainText(url)]
}
