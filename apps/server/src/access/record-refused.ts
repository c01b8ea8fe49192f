import { visibleText } from '@stackquay/contract'
import type { DeniedLog } from '../http/denied-log.ts'
import type { RequestContext } from '../http/handler.ts'

/** A wrong password changes nothing, so its entry stands alone. Names without end must not fill the log: they are counted. */
export async function recordRefused(
  denied: Pick<DeniedLog, 'record'>,
  context: RequestContext,
  action: string,
  target: string,
): Promise<void> {
  await denied.record(context.audit({ action, target: visibleText(target), outcome: 'denied' }))
}
