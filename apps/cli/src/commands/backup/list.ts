import type { Backup } from '@stackquay/contract'
import { backupTable } from '../../backups/backup-text.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument, wholeNumber } from '../../options.ts'

interface ListFlags {
  readonly all?: boolean
  readonly deleted?: boolean
  readonly limit: string
}

export const defineList: Define = (command, context) =>
  command
    .summary('list backups, newest first')
    .description('List the backups of a project, newest first, with what the last restore drill found.')
    .argument('[project]', projectArgument)
    .option('--all', 'of all projects, deleted ones too')
    .option('--deleted', 'of deleted projects alone')
    .option('-n, --limit <count>', 'at most so many', '50')
    .action((project: string | undefined, flags: ListFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: ListFlags): Promise<void> {
  const limit = wholeNumber(flags.limit, '--limit', 1, 10_000)
  const everywhere = flags.all === true || flags.deleted === true
  const { items, more } = everywhere
    ? await ofAll(context, flags.deleted === true, limit)
    : await ofProject(context, await projectRef(context, named), limit)
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ id }) => id).join('\n')
    if (items.length === 0) return 'No backups. Make one with: stq backup create <project>'
    return backupTable(items, everywhere, context.style, context.world.now())
  })
  if (more) context.note(`These are the newest ${items.length}; --limit shows more.`)
}

function ofProject(context: Context, id: string, limit: number) {
  return pages(limit, async (query) => {
    const client = await context.client()
    return client.call('listBackups', { params: { id }, query }, { signal: context.signal })
  })
}

function ofAll(context: Context, deleted: boolean, limit: number) {
  return pages(limit, async (query) => {
    const client = await context.client()
    const only = deleted ? { deleted: 'true' as const } : {}
    return client.call('listAllBackups', { query: { ...query, ...only } }, { signal: context.signal })
  })
}

interface Page {
  readonly items: readonly Backup[]
  readonly nextCursor: string | null
}

async function pages(limit: number, read: (query: { limit: number; cursor?: string }) => Promise<Page>) {
  const items: Backup[] = []
  let cursor: string | null = null
  do {
    const page: Page = await read({
      limit: Math.min(200, limit - items.length),
      ...(cursor === null ? {} : { cursor }),
    })
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null && items.length < limit)
  return { items, more: cursor !== null }
}
