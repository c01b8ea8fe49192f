import { noteDone } from '../../change-project.ts'
import { findCheckpoint } from '../../checkpoints/find-checkpoint.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { size } from '../../output/size.ts'
import { confirm } from '../../prompt.ts'

interface DeleteFlags {
  readonly yes?: boolean
}

export const defineDelete: Define = (command, context) =>
  command
    .summary('delete a checkpoint for good')
    .description('Delete a checkpoint for good. It cannot be undone.')
    .argument('<project>', 'id or slug')
    .argument('<checkpoint>', 'id or name of the checkpoint')
    .option('-y, --yes', 'do not ask')
    .action((project: string, checkpoint: string, flags: DeleteFlags) => run(context(), project, checkpoint, flags))

async function run(context: Context, project: string, wanted: string, flags: DeleteFlags): Promise<void> {
  const { id: checkpoint, name, bytes } = await findCheckpoint(context, project, wanted)
  const shown = plainText(name)
  await confirm(
    context.world,
    `This deletes the checkpoint "${shown}" of ${project} (${size(bytes)}) for good.`,
    flags.yes,
  )
  const client = await context.client()
  await client.call('deleteCheckpoint', { params: { id: project, checkpoint } }, { signal: context.signal })
  noteDone(context, `"${shown}" is deleted`)
  if (context.json) context.result({ deleted: checkpoint }, () => '')
}
