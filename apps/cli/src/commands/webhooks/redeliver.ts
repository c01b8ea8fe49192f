import { randomUUID } from 'node:crypto'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { findWebhook, webhookArgument } from '../../webhooks/find-webhook.ts'

export const defineRedeliver: Define = (command, context) =>
  command
    .argument('<webhook>', webhookArgument)
    .argument('<delivery>', 'msg_…')
    .summary('send a delivery again')
    .description('Send a delivery again now, with the same id.')
    .action((webhook: string, delivery: string) => run(context(), webhook, delivery))

async function run(context: Context, wanted: string, delivery: string): Promise<void> {
  const client = await context.client()
  const { id } = await findWebhook(context, client, wanted)
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const again = await client.call('redeliver', { params: { hook: id, delivery } }, call)
  context.note(`${again.id} is sent again. See the result: stq webhooks deliveries ${wanted}`)
  context.result(again, () => '')
}
