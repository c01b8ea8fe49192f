import type { CallInput } from '@stackquay/contract'
import type { Command } from 'commander'
import { eachOf } from '../options.ts'

type Body = NonNullable<NonNullable<CallInput<'updateWebhook'>>['body']>

export interface WebhookFlags {
  readonly events?: string
  readonly project?: readonly string[]
}

export function addWebhookOptions(command: Command): Command {
  return command
    .option('--events <types>', 'which events, with commas between: run.changed,project.status')
    .option('-p, --project <project>', 'only events of this project; can be given more than once', eachOf)
}

/** Which events there are is for the service to say, and it names the nearest. */
export function webhookChanges({ events, project }: WebhookFlags): Pick<Body, 'events' | 'projects'> {
  return {
    ...(events === undefined ? {} : { events: events.split(',').map((each) => each.trim()) as Body['events'] }),
    ...(project === undefined ? {} : { projects: [...project] }),
  }
}
