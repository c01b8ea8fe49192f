import type { CallInput } from '@stackquay/contract'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { plainText } from '../../output/plain-text.ts'
import { findWebhook, webhookArgument } from '../../webhooks/find-webhook.ts'
import { addWebhookOptions, type WebhookFlags, webhookChanges } from '../../webhooks/webhook-options.ts'

interface UpdateFlags extends WebhookFlags {
  readonly name?: string
  readonly to?: string
  readonly allProjects?: boolean
  readonly enable?: boolean
  readonly disable?: boolean
}

export const defineUpdate: Define = (command, context) =>
  addWebhookOptions(command.argument('<webhook>', webhookArgument))
    .summary('change one, or switch it on or off')
    .description('Change a webhook. Options that you leave out stay.')
    .option('--name <name>', 'its new name')
    .option('--to <url>', 'send to this address')
    .option('--all-projects', 'events of all projects again')
    .option('--enable', 'switch it on')
    .option('--disable', 'switch it off')
    .action((webhook: string, flags: UpdateFlags) => run(context(), webhook, flags))

async function run(context: Context, wanted: string, flags: UpdateFlags): Promise<void> {
  const body = changes(flags)
  if (Object.keys(body).length === 0) throw usageError('What is to change?', 'See: stq webhooks update --help')
  const client = await context.client()
  const { id } = await findWebhook(context, client, wanted)
  const changed = await client.call('updateWebhook', { params: { hook: id }, body }, { signal: context.signal })
  noteDone(context, `${plainText(changed.name)} is changed`)
  if (context.json) context.result(changed, () => '')
}

function changes(flags: UpdateFlags): NonNullable<NonNullable<CallInput<'updateWebhook'>>['body']> {
  if (flags.enable === true && flags.disable === true) throw usageError('--enable and --disable: choose one.')
  if (flags.allProjects === true && flags.project !== undefined)
    throw usageError('--all-projects and --project: choose one.')
  return {
    ...webhookChanges(flags),
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.to === undefined ? {} : { url: flags.to }),
    ...(flags.allProjects === true ? { projects: [] } : {}),
    ...(flags.enable === true ? { enabled: true } : {}),
    ...(flags.disable === true ? { enabled: false } : {}),
  }
}
