import type { WebhookDelivery } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { plainText } from '../output/plain-text.ts'
import { stateCell } from '../output/state.ts'
import { duration } from '../output/time.ts'

const looks: Readonly<Record<string, string>> = { delivered: 'succeeded', pending: 'waiting', failed: 'failed' }

export function deliveryState({ state }: WebhookDelivery, { style }: Context) {
  const { text, paint } = stateCell(looks[state] ?? state, style.colors)
  return { text: `${text.split(' ')[0]} ${state}`, ...(paint === undefined ? {} : { paint }) }
}

/** How the last attempt went: `204 in 0.1 s`, or why there was no answer. */
export function lastAttempt({ attempts }: WebhookDelivery): string {
  const last = attempts.at(-1)
  if (last === undefined) return '-'
  const what = last.status === null ? plainText(last.error ?? 'no answer') : String(last.status)
  return `${what} in ${duration(last.durationSeconds * 1000)}`
}
