import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { size } from '../../output/size.ts'

interface CreateFlags {
  readonly note?: string
}

export const defineCreate: Define = (command, context) =>
  command
    .summary('make a backup of the instance')
    .description(
      'Make a backup of the service’s own state: users, tokens, projects, sealed secrets, settings, audit log.',
    )
    .option('--note <text>', 'what it is for')
    .addHelpText(
      'after',
      '\nDownload and restore it in the page. The secret key is not in it: keep that too, elsewhere.',
    )
    .action((flags: CreateFlags) => run(context(), flags))

async function run(context: Context, { note }: CreateFlags): Promise<void> {
  const client = await context.client()
  const body = note === undefined ? {} : { note }
  const made = await client.call('createInstanceBackup', { body }, { signal: context.signal })
  context.note(`${context.noteStyle.colors.green('✔')} ${size(made.sizeBytes)}`)
  context.result(made, () => made.id)
}
