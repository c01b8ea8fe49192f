import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { managingOne } from './in-session.ts'

const once = 'It holds once, for 48 hours, and ends an earlier one.'

export const defineInvite: Define = (command, context) =>
  command
    .argument('<user>', 'name or id')
    .summary('make a link with which a person sets the first password')
    .description(`Make a link with which a person sets the first password. ${once}`)
    .action((user: string) => run(context(), user))

export const defineReset: Define = (command, context) =>
  command
    .argument('<user>', 'name or id')
    .summary('make a link with which a person sets another password')
    .description(
      `Make a link with which a person sets another password. ${once} Until it is used the old password holds.`,
    )
    .action((user: string) => run(context(), user))

async function run(context: Context, named: string): Promise<void> {
  const { signal } = context
  const link = await managingOne(context, named, async (client, { id, username }) => {
    const made = await client.call('inviteUser', { params: { uid: id } }, { signal })
    noteDone(context, `${plainText(username)} sets a password with this link`)
    return made
  })
  showLink(context, link)
}

export function showLink(context: Context, link: { readonly url: string; readonly expiresAt: string }): void {
  context.result(link, () => (context.quiet ? link.url : `${link.url}\nuntil ${link.expiresAt}`))
}
