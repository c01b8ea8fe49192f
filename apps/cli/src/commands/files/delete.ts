import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'

export const defineDelete: Define = (command, context) =>
  command
    .summary('move a file or folder of a project to the trash')
    .description('Move a file or folder of a project to the trash, from which "stq files restore" brings it back.')
    .argument('<project>', 'id or slug')
    .argument('<path>', 'from the folder of the project on: src/app.ts')
    .action((project: string, path: string) => run(context(), project, path))

async function run(context: Context, id: string, path: string): Promise<void> {
  const client = await context.client()
  const item = await client.call('deleteFile', { params: { id }, query: { path } }, { signal: context.signal })
  const { green } = context.noteStyle.colors
  context.note(
    `${green('✔')} ${plainText(item.name)} is in the trash. To bring it back: stq files restore ${id} ${item.id}`,
  )
  context.result(item, () => item.id)
}
