import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { channelArgument, findChannel } from '../../notify/find-channel.ts'
import { plainText } from '../../output/plain-text.ts'
import { confirm } from '../../prompt.ts'

export const defineRemove: Define = (command, context) =>
  command
    .argument('<channel>', channelArgument)
    .summary('stop sending, and forget what was sent')
    .description('Remove a channel with what is secret of it and the log of its messages.')
    .option('-y, --yes', 'do not ask')
    .action((channel: string, flags: { yes?: boolean }) => run(context(), channel, flags))

async function run(context: Context, wanted: string, { yes }: { yes?: boolean }): Promise<void> {
  const client = await context.client()
  const { id, name } = await findChannel(context, client, wanted)
  await confirm(context.world, `This removes the channel "${plainText(name)}" with the log of its messages.`, yes)
  await client.call('deleteNotificationChannel', { params: { channel: id } }, { signal: context.signal })
  noteDone(context, `${plainText(name)} is removed`)
  if (context.json) context.result({ removed: id }, () => '')
}
