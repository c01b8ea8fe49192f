import { randomUUID } from 'node:crypto'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { plainText } from '../../output/plain-text.ts'
import { addWebhookOptions, type WebhookFlags, webhookChanges } from '../../webhooks/webhook-options.ts'

export const defineCreate: Define = (command, context) =>
  addWebhookOptions(
    command.argument('<name>', 'what it is called').argument('<url>', 'where events are sent: http or https'),
  )
    .summary('send events to an address')
    .description('Send events to an address. Prints the key of the signatures once, on standard output.')
    .addHelpText(
      'after',
      '\nDeliveries are signed as Standard Webhooks says.\n\n  stq webhooks create ci https://ci.example/hook --events run.changed',
    )
    .action((name: string, url: string, flags: WebhookFlags) => run(context(), name, url, flags))

async function run(context: Context, name: string, url: string, flags: WebhookFlags): Promise<void> {
  const { events, projects } = webhookChanges(flags)
  if (events === undefined) throw usageError('Which events?', 'An example: --events run.changed,project.status')
  const client = await context.client()
  const body = { name, url, events, ...(projects === undefined ? {} : { projects }) }
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const made = await client.call('createWebhook', { body }, call)
  noteDone(context, `${plainText(name)} is made (${made.id}). This is its secret; it is not shown again.`)
  context.result(made, () => made.secret)
}
