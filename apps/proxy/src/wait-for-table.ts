import type { IncomingMessage } from 'node:http'
import type { PageTarget } from './route-table.ts'
import type { ProxyState } from './state.ts'

/**
 * Waits for another table where the page says so. True when one came: the request then begins anew, and may find itself here again.
 * Whoever wakes a project is reported, and waits from his arrival on, however many tables come meanwhile.
 */
export async function waitForTable(
  state: ProxyState,
  project: string,
  request: IncomingMessage,
  { holdUntil, wakeWithin }: Pick<PageTarget, 'holdUntil' | 'wakeWithin'>,
  gone: AbortSignal,
): Promise<boolean> {
  if (wakeWithin === undefined) return state.holds.wait(holdUntil === undefined ? {} : { holdUntil }, gone)
  const until = patience.get(request) ?? Date.now() + wakeWithin
  patience.set(request, until)
  state.waitsForWake.begin(project)
  try {
    return await state.holds.wait({ holdUntil: until }, gone)
  } finally {
    state.waitsForWake.end(project)
  }
}

/** Until when a request waits. */
const patience = new WeakMap<IncomingMessage, number>()
