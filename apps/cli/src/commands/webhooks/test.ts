import { randomUUID } from 'node:crypto'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { lastAttempt } from '../../webhooks/delivery-text.ts'
import { findWebhook, webhookArgument } from '../../webhooks/find-webhook.ts'

export const defineTest: Define = (command, context) =>
  command
    .argument('<webhook>', webhookArgument)
    .summary('send a test event now')
    .description('Send a test event now and print the result; exit code 1 when it was not accepted.')
    .action((webhook: string) => run(context(), webhook))

async function run(context: Context, wanted: string): Promise<void> {
  const client = await context.client()
  const { id } = await findWebhook(context, client, wanted)
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const delivery = await client.call('testWebhook', { params: { hook: id } }, call)
  const delivered = delivery.state === 'delivered'
  context.result(delivery, () => (delivered ? `Delivered: ${lastAttempt(delivery)}` : ''))
  if (!delivered)
    throw new CliError(`It was not delivered: ${lastAttempt(delivery)}.`, {
      exitCode: exitCodes.failed,
      hint: 'Check the address, and what listens there.',
    })
}
