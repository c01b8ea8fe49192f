import { Option } from 'commander'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument, wholeNumber } from '../../options.ts'
import { listRuns } from '../../runs/list-runs.ts'

const kinds = ['action', 'test', 'cron'] as const
const states = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const

interface ListFlags {
  readonly kind?: (typeof kinds)[number]
  readonly state?: (typeof states)[number]
  readonly name?: string
  readonly limit: string
}

export const defineList: Define = (command, context) =>
  command
    .summary('list runs of actions, tests and cron jobs, newest first')
    .description('List runs of actions, tests and cron jobs, newest first.')
    .argument('[project]', projectArgument)
    .addOption(new Option('--kind <kind>', 'only these').choices(kinds))
    .addOption(new Option('--state <state>', 'only in this state').choices(states))
    .option('--name <id>', 'only of this action, suite or cron job')
    .option('--limit <count>', 'how many, at most 200', '20')
    .action((project: string | undefined, flags: ListFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: ListFlags): Promise<void> {
  const limit = wholeNumber(flags.limit, '--limit', 1, 200)
  const client = await context.client()
  const { kind, state, name } = flags
  return listRuns(context, client, await projectRef(context, named), { kind, state, name, limit })
}
