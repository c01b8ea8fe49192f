import type { ProxyRules } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { changeRules } from './change-rules.ts'

type Maintenance = NonNullable<ProxyRules['maintenance']>

/** Maintenance is one of the rules in front of a project: the others stay as they are. */
export async function changeMaintenance(
  context: Context,
  named: string | undefined,
  change: (before: Partial<Maintenance>) => Maintenance,
): Promise<void> {
  await changeRules(context, named, (rules) => ({ ...rules, maintenance: change(rules.maintenance ?? {}) }))
}
