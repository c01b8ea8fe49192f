import type { CallInput, ProxyRules } from '@stackquay/contract'
import { noteDone } from '../change-project.ts'
import type { Context } from '../context.ts'
import { projectRef } from '../find-project.ts'
import { rulesText } from './rules-text.ts'

export type RulesBody = NonNullable<CallInput<'putProxyRules'>['body']>

/**
 * The service takes all rules at once, so what is not meant to change is read first and sent along; who changed it meanwhile
 * is not overwritten, because the tag of what was read no longer holds then.
 */
export async function changeRules(
  context: Context,
  named: string | undefined,
  change: (rules: ProxyRules) => RulesBody,
): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const { data, etag } = await client.callFull('getProxyRules', { params: { id } }, { signal: context.signal })
  const call = { signal: context.signal, ...(etag === null ? {} : { ifMatch: etag }) }
  printRules(context, id, await client.call('putProxyRules', { params: { id }, body: change(data) }, call))
}

/** All rules, whatever there was. */
export async function replaceRules(context: Context, named: string | undefined, body: RulesBody): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  printRules(context, id, await client.call('putProxyRules', { params: { id }, body }, { signal: context.signal }))
}

function printRules(context: Context, id: string, rules: ProxyRules): void {
  noteDone(context, `These rules stand in front of ${id}`)
  context.result(rules, () => (context.quiet ? '' : rulesText(rules, context.style)))
}
