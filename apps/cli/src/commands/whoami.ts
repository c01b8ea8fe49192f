import type { Me } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { plainText } from '../output/plain-text.ts'
import { roleText } from '../output/roles.ts'
import { fields } from '../output/table.ts'

export const define: Define = (command, context) => command.action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const me = await client.call('getMe', {}, { signal: context.signal })
  // The identity must be known also where the health is not.
  const health = await client.call('getHealth', {}, { signal: context.signal }).catch(() => undefined)
  const isolation = health?.isolation
  context.result({ url: client.baseUrl, ...me, ...(isolation === undefined ? {} : { isolation }) }, () => {
    if (context.quiet) return me.user
    const rows: [string, string][] = [
      ['Service', client.baseUrl],
      ['User', plainText(me.user)],
    ]
    if (me.kind === 'token') {
      rows.push(['Token', plainText(me.name)], ['Scope', me.scope])
      rows.push(['Projects', me.projects.length === 0 ? 'all' : me.projects.map(plainText).join(', ')])
    } else {
      rows.push(['Role', plainText(roleText(me))])
    }
    if (isolation !== undefined) {
      const { level, features, broken } = isolation
      rows.push(['Isolation', `${level}${features.length === 0 ? '' : ` (${features.join(', ')})`}`])
      if (broken !== null) rows.push(['', plainText(broken)])
    }
    return fields(rows, context.style)
  })
}

export function identityText(me: Me): string {
  return me.kind === 'token'
    ? `${plainText(me.user)} (token ${plainText(me.name)}, scope ${me.scope})`
    : `${plainText(me.user)} (${plainText(roleText(me))})`
}
