import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { managing } from './in-session.ts'
import { showLink } from './link.ts'
import { addRightsOptions, type RightsFlags, readRights, readRole, roleWords } from './rights-options.ts'

export const defineCreate: Define = (command, context) =>
  addRightsOptions(command.argument('<name>', 'user name'))
    .summary('let another person log in')
    .description(
      'Let another person log in. Prints the link with which they set their password, once, within 48 hours.',
    )
    .option('--role <role>', roleWords, 'none')
    .action((name: string, flags: RightsFlags & { role: string }) => run(context(), name, flags))

async function run(context: Context, username: string, { role, ...flags }: RightsFlags & { role: string }) {
  const { signal } = context
  const body = { username, ...readRights(readRole(role), flags) }
  const link = await managing(context, async (client) => {
    const { id } = await client.call('createUser', { body }, { signal })
    return client.call('inviteUser', { params: { uid: id } }, { signal })
  })
  noteDone(context, `${plainText(username)} is invited`)
  showLink(context, link)
}
