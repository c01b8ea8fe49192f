import type { Client } from '@stackquay/client'
import type { UserView } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { inOwnSession } from '../../own-session.ts'

/** Where people do the same in the browser. */
const place = { what: 'Managing people', page: '/settings/users' }

export async function allUsers(client: Client, signal: AbortSignal): Promise<readonly UserView[]> {
  const items: UserView[] = []
  let cursor: string | undefined
  do {
    const page = await client.call('listUsers', { query: { limit: 200, cursor } }, { signal })
    items.push(...page.items)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return items
}

/** For whatever manages people, in a session of whoever gives the password. */
export async function managing<Result>(context: Context, act: (client: Client) => Promise<Result>): Promise<Result> {
  return inOwnSession(context, place, act)
}

/** The same for one of them, by name or id. */
export async function managingOne<Result>(
  context: Context,
  named: string,
  act: (client: Client, user: UserView) => Promise<Result>,
): Promise<Result> {
  return managing(context, async (client) => {
    const user = (await allUsers(client, context.signal)).find(({ id, username }) => id === named || username === named)
    if (user === undefined)
      throw new CliError(`There is no user "${named}".`, { exitCode: exitCodes.notFound, hint: 'See: stq user list' })
    return act(client, user)
  })
}
