import type { Acme, AcmeOrder } from '@stackquay/contract'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { plainText } from '../../../output/plain-text.ts'
import { table } from '../../../output/table.ts'

export const defineShow: Define = (command, context) =>
  command
    .summary('show the authority, and how far each name is')
    .description(
      'Show which authority certificates come from, how names are proved, and for each name its state and why it fails.',
    )
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const acme = await client.call('getAcme', {}, { signal: context.signal })
  context.result(acme, () => (context.quiet ? acme.orders.map(({ name }) => name).join('\n') : acmeText(acme, context)))
}

export function acmeText({ settings, orders }: Acme, { style }: Context): string {
  if (settings === null)
    return 'No certificates are asked for. An example: stq tls acme set letsencrypt --email you@example.org'
  const by = settings.dns === null ? settings.challenge : `${settings.challenge} with ${settings.dns.provider}`
  const head = `${plainText(settings.directory)}, by ${plainText(by)}`
  if (orders.length === 0) return `${head}\nNo name of here is public yet. Add one: stq network domains add`
  const rows = orders.map((one) => [plainText(one.name), one.state, nextOf(one)])
  const failures = orders.flatMap(({ name, failure }) =>
    failure === null ? [] : [`${plainText(name)}: ${plainText(failure.detail)}`],
  )
  return [head, table(['NAME', 'STATE', 'NEXT'], rows, style), ...failures].join('\n')
}

function nextOf({ nextAttempt }: AcmeOrder): string {
  return nextAttempt === null ? '' : nextAttempt.slice(0, 16).replace('T', ' ')
}
