import type { Tls, TlsCertificate } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list certificates, and hosts without one')
    .description('List the certificates of the instance, what is wrong with them, and the hosts that have none.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const tls = await client.call('getTls', {}, { signal: context.signal })
  context.result(tls, () => (context.quiet ? tls.certificates.map(({ id }) => id).join('\n') : textOf(tls, context)))
}

function textOf(tls: Tls, { style }: Context): string {
  const { certificates, hosts, fault, listen } = tls
  const rows = certificates.map((one) => [one.id, one.source, namesOf(one), one.notAfter.slice(0, 10)])
  const without = hosts.filter(({ https }) => !https).map(({ host }) => plainText(host))
  const notes = certificates.flatMap((one) =>
    one.warnings.concat(one.lastFailure?.detail ?? []).map((text) => `${namesOf(one)}: ${plainText(text)}`),
  )
  const parts = [
    certificates.length === 0
      ? 'No certificates. One of your own: stq tls add. For this machine: stq trust'
      : table(['ID', 'SOURCE', 'NAMES', 'UNTIL'], rows, style),
    ...(listen === null ? ['The HTTPS address of the proxy is off: STACKQUAY_PROXY_HTTPS.'] : []),
    ...(fault === null ? [] : [plainText(fault)]),
    ...notes,
    ...(without.length === 0 || certificates.length === 0 ? [] : [`Without a certificate: ${shortened(without)}`]),
  ]
  return parts.join('\n')
}

function namesOf({ names }: TlsCertificate): string {
  return plainText(shortened(names))
}

function shortened(all: readonly string[]): string {
  return all.slice(0, 3).join(', ') + (all.length > 3 ? ` and ${all.length - 3} more` : '')
}
