import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { roleText } from '../../output/roles.ts'
import { managingOne } from './in-session.ts'
import { addRightsOptions, type RightsFlags, readRights, readRole, roleWords } from './rights-options.ts'

export const defineRole: Define = (command, context) =>
  addRightsOptions(command.argument('<user>', 'name or id').argument('<role>', roleWords))
    .summary('change what a person may do, and where')
    .description(
      'Change what a person may do, and where. What is not named is taken away: limits, and roles on projects.',
    )
    .action((user: string, role: string, flags: RightsFlags) => run(context(), user, role, flags))

async function run(context: Context, named: string, role: string, flags: RightsFlags): Promise<void> {
  const body = readRights(readRole(role), flags)
  const changed = await managingOne(context, named, (client, { id }) =>
    client.call('changeUser', { params: { uid: id }, body }, { signal: context.signal }),
  )
  noteDone(context, `${plainText(changed.username)}: ${plainText(roleText(changed))}`)
  context.result(changed, () => (context.quiet ? changed.id : ''))
}
