import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'

export const defineRestore: Define = (command, context) =>
  command
    .summary('bring a deleted file or folder back to where it was')
    .description('Bring a deleted file or folder back to where it was. Nothing is replaced.')
    .argument('<project>', 'id or slug')
    .argument('<item>', 'id, as "stq files delete" and "stq trash" print it')
    .action((project: string, item: string) => run(context(), project, item))

async function run(context: Context, id: string, item: string): Promise<void> {
  const client = await context.client()
  const view = await client.call('restoreFile', { params: { id }, body: { item } }, { signal: context.signal })
  context.note(`${context.noteStyle.colors.green('✔')} ${plainText(view.path ?? view.name)} is back`)
  context.result(view, () => '')
}
