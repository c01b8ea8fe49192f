import type { UserView } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { allProjects } from '../../find-project.ts'
import { plainText } from '../../output/plain-text.ts'
import { roleText } from '../../output/roles.ts'
import { table } from '../../output/table.ts'
import { allUsers, managing } from './in-session.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list the people who can log in')
    .description('List the people who can log in, with their roles.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const { signal } = context
  const [items, projects] = await managing(context, async (client) => [
    await allUsers(client, signal),
    await allProjects(client, signal),
  ])
  const slugs = new Map(projects.map(({ id, slug }) => [id, slug]))
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ username }) => username).join('\n')
    const rows = items.map((user) => [
      plainText(user.username),
      plainText(roleText(user, (id) => slugs.get(id) ?? id)),
      stateOf(user),
      user.createdAt.slice(0, 10),
    ])
    return table(['USER', 'ROLE', 'STATE', 'CREATED'], rows, context.style)
  })
}

function stateOf({ disabled, hasPassword, invitedUntil }: UserView): string {
  if (disabled) return 'disabled'
  if (hasPassword) return 'active'
  return invitedUntil === null ? 'no password yet' : 'invited'
}
