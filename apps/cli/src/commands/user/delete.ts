import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { managingOne } from './in-session.ts'

export const defineDelete: Define = (command, context) =>
  command
    .argument('<user>', 'name or id')
    .summary('delete a person with all tokens and sessions; projects stay')
    .description(
      'Delete a person with all tokens and sessions; projects stay. To shut them out for a time, disable them.',
    )
    .action((user: string) => run(context(), user))

/** Whoever gives the password for it has thought about it. */
async function run(context: Context, named: string): Promise<void> {
  const gone = await managingOne(context, named, async (client, user) => {
    await client.call('deleteUser', { params: { uid: user.id } }, { signal: context.signal })
    return user
  })
  noteDone(context, `${plainText(gone.username)} is deleted`)
  context.result(gone, () => (context.quiet ? gone.id : ''))
}
