import { ProblemError } from '@stackquay/contract'
import { createProjectQueues } from '@stackquay/orchestrator'
import { byTheService, type PendingPullRequest } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { type Followed, followPullRequest, type PullRequestDeps } from './receive-pull-request.ts'

/** Pull requests that deliveries tell of. Each was written down before, and is followed once, in the order in which they came. */
export interface PullRequestDeliveries {
  /** Null where nothing is left to do. */
  follow(delivery: Delivery, context: RequestContext): Promise<Outcome | null>
  /** What is left: the service ended in between, or the project was at work. */
  followLeft(signal: AbortSignal): Promise<void>
}

type Delivery = Pick<PendingPullRequest, 'project' | 'id'>
type Outcome = Followed & { readonly outcome: 'accepted' | 'ignored' }

export function createPullRequestDeliveries(
  deps: PullRequestDeps & { onError(error: unknown, what: string): void },
): PullRequestDeliveries {
  const { store, onError } = deps
  const queues = createProjectQueues()
  const follow: PullRequestDeliveries['follow'] = ({ project, id }, context) =>
    queues.enter(project, async () => {
      const found = (await store.deploys.pendingPullRequests(project)).find((one) => one.id === id)
      return found === undefined ? null : followOne(found, context, deps)
    })
  return {
    follow,
    followLeft: async (signal) => {
      for (const one of await store.deploys.pendingPullRequests()) {
        if (signal.aborted) return
        await follow(one, ofTheService(one, signal)).catch(async (error: unknown) => {
          if (signal.aborted) return
          onError(error, `following a pull request of ${one.project}`)
          await settle(
            one,
            { outcome: 'ignored', deploy: null, reason: 'It failed here: see the log of the service.' },
            deps,
          )
        })
      }
    },
  }
}

async function followOne(one: PendingPullRequest, context: RequestContext, deps: PullRequestDeps): Promise<Outcome> {
  const parent = await deps.store.projects.find(one.project)
  if (parent === null || parent.phase !== 'ready') return later
  const followed = await followPullRequest(parent, one.pending, one.forge, context, deps).catch((error: unknown) => {
    if (!(error instanceof ProblemError)) throw error
    // Whatever it was is told to the forge in words: a delivery that is answered with a fault would only come again.
    return error.code === 'busy' ? null : { deploy: null, reason: error.message }
  })
  if (followed === null) return later
  const outcome = followed.reason === null ? ('accepted' as const) : ('ignored' as const)
  await settle(one, { ...followed, outcome }, deps)
  return { ...followed, outcome }
}

/** What is at work ends, and is heard of. */
const later: Outcome = {
  outcome: 'accepted',
  deploy: null,
  reason: 'The project is at work: it is followed afterwards.',
}

const settle = (one: Delivery, outcome: Outcome, { store }: PullRequestDeps) =>
  store.transaction((tx) => tx.deploys.settleDelivery(one, outcome))

export const actorOf = ({ forge, id }: Pick<PendingPullRequest, 'forge' | 'id'>) => `webhook (${forge}: ${id})`

/** Nobody waits for it any more. */
function ofTheService(one: PendingPullRequest, signal: AbortSignal): RequestContext {
  const actor = actorOf(one)
  return {
    ...{
      principal: { kind: 'anonymous' },
      requestId: one.id,
      source: 'system',
      ip: '',
      userAgent: null,
      signal,
      actor,
    },
    ...{ ifMatch: null, contentLength: null, header: () => null },
    audit: ({ operationId = null, ...entry }) => ({ ...byTheService(entry), actor, operationId }),
  }
}
