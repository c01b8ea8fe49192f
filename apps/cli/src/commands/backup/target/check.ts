import { findTarget } from '../../../backups/find-target.ts'
import { noteDone } from '../../../change-project.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { plainText } from '../../../output/plain-text.ts'

interface CheckFlags {
  readonly restoreKeyFile?: boolean
}

export const defineCheck: Define = (command, context) =>
  command
    .summary('try a backup target')
    .description(
      'Write a small object to a target, read it back and delete it; and look whether its key file is there.',
    )
    .argument('<target>', 'id or name')
    .option('--restore-key-file', 'put the key file back where it is gone')
    .action((target: string, flags: CheckFlags) => run(context(), target, flags))

async function run(context: Context, named: string, { restoreKeyFile = false }: CheckFlags): Promise<void> {
  const { id } = await findTarget(context, named)
  const client = await context.client()
  const input = { params: { target: id }, body: { restoreKeyFile } }
  const checked = await client.call('checkBackupTarget', input, { signal: context.signal })
  noteDone(context, `${plainText(checked.place)} keeps what is written, and gives it back`)
  if (context.json) context.result(checked, () => '')
}
