import { setTimeout as sleep } from 'node:timers/promises'
import { type OperationRecord, ProblemError } from '@stackquay/contract'
import { isNewAtRemote, watchMs } from '@stackquay/domain'
import type { Orchestrator } from '@stackquay/orchestrator'
import { byTheService, type DeployRow, newId, type ProjectRow, type Store } from '@stackquay/store'
import { aborted } from '../aborted.ts'
import type { PullRequestDeliveries } from '../branches/pull-request-deliveries.ts'
import { remoteBranch } from '../git/remote.ts'
import type { Repositories } from '../git/repository.ts'
import { remoteOf } from '../git/sealed-remote.ts'
import { headOf } from '../git/source-changes.ts'
import { statusOf } from '../git/state.ts'
import { begin } from '../projects/accept.ts'
import type { Model } from '../projects/model.ts'
import { isEnded } from '../projects/view.ts'
import { wake as wakeUp } from '../sleep/fall-asleep-and-wake.ts'
import type { NetworkHalf } from '../source/git-home.ts'
import { acceptDeploy, recordedDeploy } from './accept-deploy.ts'
import { createRefusedDeliveries, type RefusedDeliveries } from './refused-deliveries.ts'
import { createReports, type Reports } from './report.ts'
import { allWebhooks, webhookOf } from './webhook-settings.ts'

export interface DeployKeeperOptions {
  readonly store: Store
  readonly model: Model
  readonly orchestrator: Orchestrator
  readonly repositories: Repositories
  readonly gitHalf: NetworkHalf
  readonly pullRequests: PullRequestDeliveries
  readonly publicUrl: string
  /** Where a project answers. */
  addressOf(row: ProjectRow): string
  readonly now: () => Date
  /** Nothing is deployed before what the service of before had under way goes on. */
  readonly ready: Promise<void>
  onError(error: unknown, what: string): void
}

export interface DeployKeeper {
  /** Something waits. */
  wake(): void
  readonly refusals: RefusedDeliveries
  readonly pullRequests: PullRequestDeliveries
  /** The last look at the remote of a project; null while there was none. */
  watched(project: string): { readonly at: string; readonly error: string | null } | null
  /** Ends with what is under way. Operations are the orchestrator's. */
  close(): Promise<void>
}

type Watched = Map<string, { readonly at: string; readonly error: string | null }>

/**
 * Begins what waits to be deployed, one for each project after the other, asks the remotes that are watched, and tells forges how it goes.
 * What is due is found by looking, so a kill loses nothing.
 */
export function openDeployKeeper(options: DeployKeeperOptions): DeployKeeper {
  const { store, ready, onError } = options
  const life = new AbortController()
  const reports = createReports(options, life.signal)
  const refusals = createRefusedDeliveries(options)
  const watched: Watched = new Map()
  const wakers = new Map<string, AbortController>()
  const wake = () => wakers.get('deploys')?.abort()
  const stopHearing = store.onCommit((events) => {
    const hasEnded = ({ type, data }: (typeof events)[number]) =>
      type === 'operation.changed' && isEnded(data as Pick<OperationRecord, 'state'>)
    if (events.some(hasEnded)) wake()
  })
  const loop = async (what: string, everyMs: number, look: () => Promise<void>) => {
    await Promise.race([ready, aborted(life.signal)])
    while (!life.signal.aborted) {
      // Before the look: what happens during it is looked at after it.
      const waking = new AbortController()
      wakers.set(what, waking)
      await look().catch((error: unknown) => {
        if (!life.signal.aborted) onError(error, `looking at ${what}`)
      })
      const signal = AbortSignal.any([life.signal, waking.signal])
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
  // Projects that cannot be found are told of elsewhere.
  const running = Promise.allSettled([
    loop('deploys', 10_000, async () => {
      // First: an environment that it makes may have something to deploy.
      await options.pullRequests.followLeft(life.signal)
      await lookAtDeploys(options, reports)
    }),
    loop('watched remotes', 5_000, () => lookAtRemotes(options, watched, wake, life.signal)),
  ])
  return {
    wake,
    refusals,
    pullRequests: options.pullRequests,
    watched: (project) => watched.get(project) ?? null,
    close: async () => {
      stopHearing()
      life.abort()
      await running
      await reports.done()
      await refusals.close()
    },
  }
}

async function lookAtDeploys(options: DeployKeeperOptions, reports: Reports): Promise<void> {
  const { store } = options
  for (const deploy of await store.deploys.inState('running')) await settleLeft(deploy, options)
  for (const deploy of await store.deploys.inState('waiting')) {
    const row = await store.projects.find(deploy.project)
    if (row === null || row.phase !== 'ready') continue
    if (row.desired === 'sleeping') {
      // What a commit does to data, and whether it is well, is seen in a project that runs: it is begun when this has ended.
      await wakeUp(row.id, 'deploy', options).catch(letBusyBe)
      continue
    }
    const isBegun = await beginWaiting(deploy, row, options).catch(letBusyBe)
    if (isBegun === true) reports.tell(deploy, 'pending')
  }
  await reports.tellEnded()
}

/** What is at work is waited for: its end is heard of. */
function letBusyBe(error: unknown): void {
  if (!(error instanceof ProblemError && error.code === 'busy')) throw error
}

/** Its operation was cancelled while it waited, or is gone. */
async function settleLeft(deploy: DeployRow, { store, now }: DeployKeeperOptions): Promise<void> {
  const operation = deploy.operation === null ? null : await store.operations.find(deploy.operation)
  if (operation !== null && !isEnded(operation)) return
  // What made the environment of a branch says nothing of deploys.
  const isMade = operation?.kind === 'duplicate' && operation.state === 'succeeded'
  const state = isMade ? 'succeeded' : operation?.state === 'cancelled' ? 'cancelled' : 'failed'
  const reason = { succeeded: null, cancelled: 'It was cancelled before it began.', failed: withoutWord }[state]
  await store.transaction(async (tx) => {
    // Settled meanwhile.
    if ((await store.deploys.find(deploy.id))?.state !== 'running') return
    await tx.deploys.update(deploy.id, { state, reason, finishedAt: now().toISOString() })
  })
}

const withoutWord = 'Its operation ended without a word.'

async function beginWaiting(deploy: DeployRow, row: ProjectRow, options: DeployKeeperOptions): Promise<boolean> {
  const { store, model, orchestrator } = options
  const { manner: set, rollback } = await webhookOf(row.id, store)
  // A branch that is worked on is rebased; what was there is kept as a branch.
  const manner = row.source?.kind === 'branch' ? 'reset' : set
  const accepted = await store.transaction(async (tx) => {
    // A newer one took its place.
    if ((await store.deploys.find(deploy.id))?.state !== 'waiting') return null
    const asker = { actor: deploy.actor, requestId: deploy.id }
    const input = { deploy: deploy.id, to: null, branch: deploy.branch, manner, rollback }
    const made = await acceptDeploy(tx, store, row, asker, input)
    await tx.deploys.update(deploy.id, { state: 'running', operation: made.operation.id })
    const entry = byTheService({
      action: 'project.git.deploy',
      target: row.slug,
      project: row.id,
      changes: recordedDeploy(deploy),
    })
    await tx.audit.append({ ...entry, actor: deploy.actor, operationId: made.operation.id })
    return made
  })
  if (accepted === null) return false
  begin(accepted, { model, orchestrator })
  return true
}

/** One after the other: a remote that does not answer takes its 20 seconds. */
async function lookAtRemotes(
  options: DeployKeeperOptions,
  watched: Watched,
  wake: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { store, now } = options
  const webhooks = await allWebhooks(store)
  for (const project of watched.keys()) if (webhooks.get(project)?.watch == null) watched.delete(project)
  for (const [project, { watch, branch }] of webhooks) {
    signal.throwIfAborted()
    if (watch === null) continue
    const row = await store.projects.find(project)
    if (row?.phase !== 'ready') {
      watched.delete(project)
      continue
    }
    const last = watched.get(row.id)
    if (last !== undefined && now().getTime() - Date.parse(last.at) < watchMs(watch.every)) continue
    const error = await lookAtRemote(row, branch, options, signal).then(
      (isNew) => {
        if (isNew) wake()
        return null
      },
      (failure: unknown) => (failure instanceof Error ? failure.message : String(failure)).slice(0, 500),
    )
    if (!signal.aborted) watched.set(row.id, { at: now().toISOString(), error })
  }
}

async function lookAtRemote(
  row: ProjectRow,
  wanted: string | null,
  { store, repositories, gitHalf }: DeployKeeperOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const repository = await repositories.open(row, signal)
  const remote = await remoteOf(row, store)
  if (remote === null) throw new ProblemError('git_refused', 'The project has no address to fetch from.')
  const branch = wanted ?? (await statusOf(repository, signal)).branch
  if (branch === null) throw new ProblemError('git_refused', 'No branch is checked out: the head is detached.')
  const seen = await remoteBranch(branch, remote, gitHalf, { signal, say: () => undefined })
  const head = await headOf(repository, signal)
  return store.transaction(async (tx) => {
    if (!isNewAtRemote(await store.deploys.list({ project: row.id, limit: 50 }), seen, head)) return false
    await tx.deploys.supersede(row.id, `A newer commit was seen: ${seen?.slice(0, 10)}.`)
    await tx.deploys.insert({
      id: newId('dpl'),
      project: row.id,
      trigger: 'watch',
      actor: 'system (watch)',
      forge: null,
      state: 'waiting',
      branch,
      commit: seen,
      operation: null,
    })
    return true
  })
}
