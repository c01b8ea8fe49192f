import type { Me } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { plainText } from '../output/plain-text.ts'
import { fields } from '../output/table.ts'
import type { Define } from './index.ts'

export const define: Define = (command, context) => command.action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const me = await client.call('getMe', {}, { signal: context.signal })
  context.result({ url: client.baseUrl, ...me }, () => {
    if (context.quiet) return me.user
    const rows: [string, string][] = [
      ['Service', client.baseUrl],
      ['User', plainText(me.user)],
    ]
    if (me.kind === 'token') {
      rows.push(['Token', plainText(me.name)], ['Scope', me.scope])
      rows.push(['Projects', me.projects.length === 0 ? 'all' : me.projects.map(plainText).join(', ')])
    } else {
      rows.push(['Role', me.role])
    }
    return fields(rows, context.style)
  })
}

export function identityText(me: Me): string {
  return me.kind === 'token'
    ? `${plainText(me.user)} (token ${plainText(me.name)}, scope ${me.scope})`
    : `${plainText(me.user)} (${me.role})`
}
