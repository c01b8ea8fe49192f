import { createHash, randomBytes } from 'node:crypto'
import type { ApiRequest } from './caller.ts'

/** Something that was planned and waits for its confirmation: exactly this request, for this caller, on what was there then. */
export interface Plan {
  readonly caller: string
  readonly tool: string
  readonly title: string
  readonly request: ApiRequest
  /** The project as it was; null for what belongs to none. */
  readonly project: { readonly ref: string; readonly etag: string } | null
}

export type PlanRefusal = 'plan_unknown' | 'plan_expired'

export interface Plans {
  add(plan: Plan): { readonly id: string; readonly expiresAt: string }
  /** The plan, if it is this caller’s and still holds. It stays. */
  look(id: string, caller: string): Plan | PlanRefusal
  /** The same, and nobody gets it again. */
  take(id: string, caller: string): Plan | PlanRefusal
}

/** How long a person may think. */
export const planMs = 5 * 60_000
const mostOfCaller = 20
const mostInAll = 500
/** Plans hold what is to be sent. */
const mostBytes = 16 << 20

/**
 * In memory alone: after a restart of the service a plan is unknown, and is made again. A caller with many loses its oldest, and
 * ids are kept as hashes, so that nothing that reads this memory can confirm.
 */
export function createPlans(now: () => number = Date.now): Plans {
  const held = new Map<string, Plan & { readonly until: number; readonly bytes: number }>()

  const look = (id: string, caller: string): Plan | PlanRefusal => {
    const plan = held.get(hashOf(id))
    // Of somebody else: the same answer as for none.
    if (plan === undefined || plan.caller !== caller) return 'plan_unknown'
    return plan.until > now() ? plan : 'plan_expired'
  }
  const dropOldest = (of: (plan: Plan) => boolean) => {
    const oldest = [...held].find(([, plan]) => of(plan))
    if (oldest !== undefined) held.delete(oldest[0])
  }

  return {
    add(plan) {
      // What has just expired is still told as that; later it is unknown.
      for (const [key, { until }] of held) if (until + planMs <= now()) held.delete(key)
      const bytes = JSON.stringify(plan.request).length
      const own = () => [...held.values()].filter(({ caller }) => caller === plan.caller).length
      const inAll = () => [...held.values()].reduce((sum, one) => sum + one.bytes, bytes)
      while (own() >= mostOfCaller) dropOldest(({ caller }) => caller === plan.caller)
      while (held.size > 0 && (held.size >= mostInAll || inAll() > mostBytes)) dropOldest(() => true)
      const id = `plan_${randomBytes(16).toString('base64url')}`
      const until = now() + planMs
      held.set(hashOf(id), { ...plan, until, bytes })
      return { id, expiresAt: new Date(until).toISOString() }
    },
    look,
    take(id, caller) {
      const plan = look(id, caller)
      if (plan !== 'plan_unknown') held.delete(hashOf(id))
      return plan
    },
  }
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}
