import { noteDone } from '../../../change-project.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'

export const defineClear: Define = (command, context) => {
  command
    .summary('make no more backups by schedule; those that are there stay')
    .argument('<project>', 'id or slug')
    .action((project: string) => clear(context(), project))
}

async function clear(context: Context, id: string): Promise<void> {
  const client = await context.client()
  await client.call('deleteBackupSchedule', { params: { id } }, { signal: context.signal })
  noteDone(context, `${id} has no schedule now; its backups stay`)
  if (context.json) context.result({ schedule: null }, () => '')
}
