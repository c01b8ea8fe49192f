import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'

interface LogFlags {
  readonly branch?: string
  readonly limit?: string
}

export const defineLog: Define = (command, context) =>
  command
    .summary('list commits, newest first')
    .description('List commits, newest first.')
    .argument('[project]', projectArgument)
    .option('--branch <name>', 'of this branch, such as origin/main, instead of what is checked out')
    .option('--limit <count>', 'how many, from 1 to 200 (default: 20)')
    .action((project: string | undefined, flags: LogFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, { branch, limit = '20' }: LogFlags): Promise<void> {
  if (!/^([1-9]\d?|1\d\d|200)$/.test(limit)) throw usageError('--limit takes a number from 1 to 200.')
  const id = await projectRef(context, named)
  const client = await context.client()
  const query = { limit: Number(limit), ...(branch === undefined ? {} : { branch }) }
  const page = await client.call('getGitLog', { params: { id }, query }, { signal: context.signal })
  context.result(page, () => {
    if (context.quiet) return page.items.map((item) => item.id).join('\n')
    if (page.items.length === 0) return 'No commits yet.'
    const rows = page.items.map((item) => [
      item.id.slice(0, 10),
      ago(item.at, context.world.now()),
      plainText(item.author.name),
      plainText(item.subject),
    ])
    return table(['COMMIT', 'MADE', 'BY', 'SUBJECT'], rows, context.style)
  })
}
