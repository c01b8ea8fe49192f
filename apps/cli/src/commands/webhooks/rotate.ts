import { randomUUID } from 'node:crypto'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { agree } from '../../prompt.ts'
import { findWebhook, webhookArgument } from '../../webhooks/find-webhook.ts'

export const defineRotate: Define = (command, context) =>
  command
    .argument('<webhook>', webhookArgument)
    .summary('make a new secret')
    .description('Rotate the secret and print the new one, once. For a day both sign.')
    .option('-y, --yes', 'do not ask')
    .action((webhook: string, flags: { yes?: boolean }) => run(context(), webhook, flags))

async function run(context: Context, wanted: string, { yes }: { yes?: boolean }): Promise<void> {
  const client = await context.client()
  const { id, name } = await findWebhook(context, client, wanted)
  await agree(
    context.world,
    `This makes a new secret for "${plainText(name)}"; the old one signs for another day.`,
    yes,
  )
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const rotated = await client.call('rotateWebhookSecret', { params: { hook: id } }, call)
  noteDone(context, 'This is the new secret; it is not shown again.')
  context.result(rotated, () => rotated.secret)
}
