import type { OfferedRuntime } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { plainText } from '../output/plain-text.ts'
import { type Cell, table } from '../output/table.ts'
import type { Define } from './index.ts'

export const define: Define = (command, context) => command.action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const { engine, runtimes } = await client.call('listRuntimes', {}, { signal: context.signal })
  context.result({ engine, items: runtimes }, () => {
    if (context.quiet)
      return runtimes
        .filter(({ available }) => available)
        .map(({ name }) => name)
        .join('\n')
    return table(
      ['RUNTIME', 'WHAT', 'VERSIONS'],
      runtimes.map((runtime) => row(runtime, context)),
      context.style,
    )
  })
}

function row(
  { name, label, available, versions, reason, install }: OfferedRuntime,
  { style }: Context,
): (string | Cell)[] {
  const { colors } = style
  if (!available) return [name, plainText(label), { text: missing(reason, install), paint: colors.yellow }]
  const offered = versions
    .filter((version) => version.available)
    .map((version) => `${version.version}${version.default ? '*' : ''}`)
  return [name, plainText(label), plainText(offered.join('  ') || '-')]
}

export function missing(reason: string | null, install: string | null): string {
  const what = plainText(reason ?? 'not available')
  return install === null ? what : `${what.replace(/\.$/, '')}; install: ${plainText(install)}`
}
