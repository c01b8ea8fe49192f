import { checkedLookup, post } from '../webhooks/post.ts'
import { addressBlocker } from '../webhooks/receivers.ts'
import { retryAfter } from '../webhooks/retries.ts'
import type { Outside } from './channel-kind.ts'

const answerBytes = 2048
const shownAnswer = 200

/** The rule of webhooks: the own network is allowed, what only this machine may ask is not. */
export function outsideFor(signal: AbortSignal, now: () => Date): Outside {
  return {
    signal,
    lookup: checkedLookup(addressBlocker),
    post: async (url, body, headers = {}) => {
      const result = await post(url, { ...headers }, JSON.stringify(body), signal, undefined, answerBytes)
      const answer = result.answer ?? ''
      const shown = answer.replaceAll(/\s+/g, ' ').trim().slice(0, shownAnswer)
      return {
        status: result.status,
        error: result.error === null || shown === '' ? result.error : `${result.error} ${shown}`,
        retryAfterSeconds: retryAfter(result.retryAfter, now()),
        answer,
      }
    },
  }
}
