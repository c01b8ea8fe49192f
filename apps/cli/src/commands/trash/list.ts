import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { size } from '../../output/size.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list what was deleted, newest first')
    .description('List deleted projects and removed data that can be restored, newest first.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const answer = await client.call('listTrash', {}, { signal: context.signal })
  const { items, keepDays } = answer
  context.result(answer, () => {
    if (context.quiet) return items.map(({ id }) => id).join('\n')
    if (items.length === 0) return `The trash is empty. What is deleted stays here for ${keepDays} days.`
    const rows = items.map(({ id, kind, name, project, state, sizeBytes, deletedAt, deletedBy, purgeAt }) => [
      plainText(id),
      `${kind} ${plainText(name)}${state === 'kept' ? '' : ` (${state})`}`,
      plainText(project.slug),
      sizeBytes === null ? '?' : size(sizeBytes),
      `${ago(deletedAt, context.world.now())}, ${plainText(deletedBy)}`,
      purgeAt.slice(0, 10),
    ])
    return table(['ITEM', 'WHAT', 'PROJECT', 'SIZE', 'DELETED', 'KEPT UNTIL'], rows, context.style)
  })
}
