import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { confirm } from '../../prompt.ts'
import { findWebhook, webhookArgument } from '../../webhooks/find-webhook.ts'

export const defineDelete: Define = (command, context) =>
  command
    .argument('<webhook>', webhookArgument)
    .summary('stop sending, and forget what was sent')
    .description('Delete a webhook with its deliveries and its secret.')
    .option('-y, --yes', 'do not ask')
    .action((webhook: string, flags: { yes?: boolean }) => run(context(), webhook, flags))

async function run(context: Context, wanted: string, { yes }: { yes?: boolean }): Promise<void> {
  const client = await context.client()
  const { id, name } = await findWebhook(context, client, wanted)
  await confirm(context.world, `This deletes the webhook "${plainText(name)}" with its secret and its deliveries.`, yes)
  await client.call('deleteWebhook', { params: { hook: id } }, { signal: context.signal })
  noteDone(context, `${plainText(name)} is deleted`)
  if (context.json) context.result({ deleted: id }, () => '')
}
