import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError, usageError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { plainText } from '../../output/plain-text.ts'
import { inOwnSession } from '../../own-session.ts'
import { ownKeys } from './own-keys.ts'

export const defineRemove: Define = (command, context) =>
  command
    .argument('<key>', 'id, fingerprint or name')
    .summary('remove a key, at once')
    .description('Remove one of your keys. What is connected with it is cut within a second.')
    .action((key: string) => run(context(), key))

async function run(context: Context, named: string): Promise<void> {
  const { signal } = context
  const removed = await inOwnSession(context, ownKeys('Removing'), async (client) => {
    const { items } = await client.call('listSshKeys', { query: { limit: 200 } }, { signal })
    const found = items.filter(({ id, name, fingerprint }) => [id, name, fingerprint].includes(named))
    const [one, other] = found
    if (one === undefined)
      throw new CliError(`You have no key "${named}".`, { exitCode: exitCodes.notFound, hint: 'See: stq ssh-key list' })
    if (other !== undefined)
      throw usageError(
        `${found.length} keys are called "${named}".`,
        `Name one by its id: ${found.map(({ id }) => id).join(', ')}`,
      )
    await client.call('removeSshKey', { params: { kid: one.id } }, { signal })
    return one
  })
  noteDone(context, `${plainText(removed.name)} opens nothing any more`)
  context.result(removed, () => (context.quiet ? removed.id : ''))
}
