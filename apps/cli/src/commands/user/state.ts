import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { managingOne } from './in-session.ts'

export const defineDisable: Define = (command, context) =>
  command
    .argument('<user>', 'name or id')
    .summary('shut a person out: sessions and tokens end at once')
    .description('Shut a person out. Sessions, links and streams end, tokens are refused; nothing is deleted.')
    .action((user: string) => run(context(), user, true))

export const defineEnable: Define = (command, context) =>
  command
    .argument('<user>', 'name or id')
    .summary('let a person in again, with their tokens')
    .description('Let a person in again, with their tokens.')
    .action((user: string) => run(context(), user, false))

async function run(context: Context, named: string, disabled: boolean): Promise<void> {
  const changed = await managingOne(context, named, (client, { id }) =>
    client.call('changeUser', { params: { uid: id }, body: { disabled } }, { signal: context.signal }),
  )
  noteDone(context, `${plainText(changed.username)} ${disabled ? 'is shut out' : 'can log in again'}`)
  context.result(changed, () => (context.quiet ? changed.id : ''))
}
