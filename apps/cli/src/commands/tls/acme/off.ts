import { noteDone } from '../../../change-project.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { confirm } from '../../../prompt.ts'

export const defineOff: Define = (command, context) =>
  command
    .summary('ask no authority any more')
    .description(
      'Ask no authority any more. Its account and the credentials of the DNS provider are deleted; certificates stay until they end.',
    )
    .option('-y, --yes', 'do not ask')
    .action((flags: { yes?: boolean }) => run(context(), flags))

async function run(context: Context, { yes }: { yes?: boolean }): Promise<void> {
  await confirm(context.world, 'Certificates are not renewed any more, and what was given for it is deleted.', yes)
  const client = await context.client()
  await client.call('deleteAcme', {}, { signal: context.signal })
  noteDone(context, 'No authority is asked any more')
  if (context.json) context.result({ off: true }, () => '')
}
