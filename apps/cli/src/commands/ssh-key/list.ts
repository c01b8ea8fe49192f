import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { inOwnSession } from '../../own-session.ts'
import { ownKeys } from './own-keys.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list your public keys')
    .description('List the public keys that log in with your rights.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const { items } = await inOwnSession(context, ownKeys('Listing'), (client) =>
    client.call('listSshKeys', { query: { limit: 200 } }, { signal: context.signal }),
  )
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ id }) => id).join('\n')
    if (items.length === 0) return 'No keys. Add one: stq ssh-key add'
    const rows = items.map(({ id, name, fingerprint, lastUsedAt }) => [
      id,
      plainText(name),
      plainText(fingerprint),
      lastUsedAt?.slice(0, 10) ?? 'never',
    ])
    return table(['ID', 'NAME', 'FINGERPRINT', 'LAST USED'], rows, context.style)
  })
}
