import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { showUrl } from '../open.ts'

interface OpenFlags {
  readonly browser?: boolean
}

export const defineOpen: Define = (command, context) =>
  command
    .summary('open the page of a service')
    .description(
      'Open the page of a service or addon in the browser. It lets in whoever is logged in to Stackquay there.',
    )
    .argument('<project>', 'id or slug')
    .argument('<service>', 'see: stq service list')
    .option('--no-browser', 'only print the URL')
    .action((project: string, service: string, flags: OpenFlags) => run(context(), project, service, flags))

async function run(context: Context, id: string, name: string, flags: OpenFlags): Promise<void> {
  const client = await context.client()
  const { services } = await client.call('listExtras', { params: { id } }, { signal: context.signal })
  const pages = services.filter(({ pageUrl }) => pageUrl !== null)
  const found = pages.find(({ kind }) => kind === name)
  if (found?.pageUrl == null) {
    const there =
      pages.length === 0 ? 'None of its services has one now.' : `There is ${pages.map(({ kind }) => kind).join(', ')}.`
    throw usageError(`"${name}" has no page in this project.`, there)
  }
  showUrl(context, found.pageUrl, flags)
}
