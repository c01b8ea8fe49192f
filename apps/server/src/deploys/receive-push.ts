import { createHash, timingSafeEqual } from 'node:crypto'
import { ProblemError } from '@stackquay/contract'
import {
  type DeliveryHead,
  deliveryHead,
  judgePush,
  otherRepository,
  type PullRequestEvent,
  type Push,
  pullRequestOf,
  pushOf,
  type Verdict,
} from '@stackquay/domain'
import { newId, type ProjectRow, type Store, type Transaction } from '@stackquay/store'
import { networkOf } from '../access/throttle.ts'
import { noteSeen } from '../branches/keeper.ts'
import { actorOf } from '../branches/pull-request-deliveries.ts'
import type { Repositories } from '../git/repository.ts'
import { ownRemoteOf } from '../git/sealed-remote.ts'
import { headOf } from '../git/source-changes.ts'
import { statusOf } from '../git/state.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { DeployKeeper } from './keeper.ts'
import { createRateLimit } from './limits.ts'
import { checkSignature } from './signatures.ts'
import { projectOfHook, type WebhookSettings, webhookOf } from './webhook-settings.ts'

export interface ReceiveDeps {
  readonly store: Store
  readonly repositories: Repositories
  readonly keeper: Pick<DeployKeeper, 'wake' | 'refusals' | 'pullRequests'>
  readonly now: () => Date
}

const mostDeliveries = 60
const mostRefused = 20
/** How many of a project are remembered: a delivery that comes again is known so long. */
const keptDeploys = 200
const keptDeliveries = 1000

/** Deliveries of forges, from anybody: what is not signed is refused, and what was here already does nothing. */
export function receiveHandler(deps: ReceiveDeps): Pick<Handlers, 'receivePush'> {
  const { store, now } = deps
  const deliveries = createRateLimit(mostDeliveries, now)
  const refused = createRateLimit(mostRefused, now)
  return {
    receivePush: async ({ params, body = Buffer.alloc(0) }, context) => {
      const { row, settings } = await known(params.hook, store)
      const who = `${row.id} ${networkOf(context.ip)}`
      refused.look(who)
      const head = deliveryHead((name) => context.header(name))
      if (head === null)
        throw new ProblemError('invalid_request', 'No header says which forge sends this.', {
          hint: 'GitHub, GitLab, Gitea and Forgejo are understood.',
        })
      const check = checkSignature(head.forge, (name) => context.header(name), body, settings.secret, now())
      if (!check.ok) {
        refused.take(who)
        await deps.keeper.refusals.record(row, check.reason, context)
        throw new ProblemError('signature_invalid', check.reason)
      }
      deliveries.take(row.id)
      const digest = createHash('sha256').update(body).digest('hex')
      const delivery = { id: head.id ?? digest.slice(0, 32), digest: check.signed ? digest : null }
      const payload = payloadOf(body, context)
      const push = pushOf(head, payload)
      const isTaken = settings.enabled && row.phase === 'ready'
      const told = isTaken ? pullRequestOf(head, payload) : null
      const other = otherRepository(payload, (await ownRemoteOf(row, store))?.url.url ?? null)
      const pull = other === null ? told : null
      const verdict = told === null ? await judge(row, settings, head, push, deps, context) : shownVerdict(told, other)
      const isOurs = settings.enabled && other === null
      const environment = isOurs && push !== null ? await environmentOf(row, push, deps, context) : null
      const noted = await note({ row, head, push, pull, verdict, delivery, environment }, deps, context)
      const answer =
        noted.outcome === 'replayed' || pull === null ? noted : await follow(row, noted, head, deps, context)
      if (answer.deploy !== null) deps.keeper.wake()
      return { status: answer.outcome === 'accepted' ? 202 : 200, body: answer }
    },
  }
}

async function known(hook: string, store: Store) {
  const project = projectOfHook(hook)
  const row = project === null ? null : await store.projects.find(project)
  const settings = row === null ? null : await webhookOf(row.id, store)
  if (row !== null && settings !== null && settings.hook !== null && settings.secret !== null) {
    const [one, other] = [Buffer.from(settings.hook), Buffer.from(hook)]
    if (one.length === other.length && timingSafeEqual(one, other))
      return { row, settings: { ...settings, secret: settings.secret } }
  }
  throw new ProblemError('not_found', 'There is no such webhook.', {
    hint: 'Copy the address again, from the page or "stq git webhook".',
  })
}

/** As JSON, or in the field `payload` of a form, which GitHub and Gitea send when they are told to. */
function payloadOf(body: Buffer, context: RequestContext): unknown {
  const isForm = context.header('content-type')?.toLowerCase().startsWith('application/x-www-form-urlencoded') === true
  const text = isForm ? (new URLSearchParams(body.toString('utf8')).get('payload') ?? '') : body.toString('utf8')
  try {
    return JSON.parse(text)
  } catch {
    throw new ProblemError('invalid_json', 'The body is not valid JSON.')
  }
}

const shownVerdict = ({ act, number }: PullRequestEvent, other: string | null): Verdict => ({
  act: 'ignore',
  reason:
    other === null
      ? `Pull request ${number}: ${act}.`
      : `It is of ${other}, and the address of this project is that of another repository.`,
})

type Answer = Awaited<ReturnType<typeof note>>

/** It is written down already: who ends now follows it when the service is there again. */
async function follow(
  { id: project }: ProjectRow,
  noted: Answer,
  { forge }: DeliveryHead,
  { keeper }: ReceiveDeps,
  context: RequestContext,
): Promise<Answer> {
  const actor = actorOf({ forge, id: noted.delivery })
  const { principal, requestId, source, ip, userAgent, signal } = context
  const asForge: RequestContext = {
    ...{ principal, requestId, source, ip, userAgent, signal, ifMatch: null, contentLength: null, actor },
    header: (name) => context.header(name),
    audit: (entry) => ({ ...context.audit(entry), actor }),
  }
  const followed = await keeper.pullRequests.follow({ project, id: noted.delivery }, asForge)
  return followed === null ? noted : { ...noted, ...followed }
}

/** The environment of the branch that was pushed, and the commit that it is to get; null where there is none, or nothing is new. */
async function environmentOf(parent: ProjectRow, push: Push, deps: ReceiveDeps, { signal }: RequestContext) {
  const { store, repositories, now } = deps
  const branch = /^refs\/heads\/(.+)$/.exec(push.ref)?.[1]
  const known = branch === undefined ? null : await store.branches.find(parent.id, branch)
  if (known?.project == null || known.pullRequest?.fork === true) return null
  await noteSeen(parent, known, push.after, { store, now })
  const row = await store.projects.find(known.project)
  if (row === null || push.after === null) return null
  const { repository } = row.phase === 'ready' ? await repositories.look(row, signal) : { repository: null }
  if (repository !== null && (await headOf(repository, signal)) === push.after) return null
  return { row, branch: known.branch, commit: push.after }
}

async function judge(
  row: ProjectRow,
  settings: WebhookSettings,
  head: DeliveryHead,
  push: Push | null,
  { repositories }: ReceiveDeps,
  { signal }: RequestContext,
): Promise<Verdict> {
  if (!settings.enabled) return { act: 'ignore', reason: 'The webhook is switched off.' }
  if (row.phase !== 'ready') return { act: 'ignore', reason: 'The project is being created or deleted.' }
  const { repository, reason } = await repositories.look(row, signal)
  if (repository === null) return { act: 'ignore', reason }
  const [{ branch }, current] = await Promise.all([statusOf(repository, signal), headOf(repository, signal)])
  return judgePush(head, push, { branch: settings.branch ?? branch, current })
}

/** One transaction after the other, so that of two deliveries that are the same one is the first. */
async function note(
  received: {
    readonly row: ProjectRow
    readonly head: DeliveryHead
    readonly push: Push | null
    /** Followed afterwards. */
    readonly pull: PullRequestEvent | null
    readonly verdict: Verdict
    readonly delivery: { readonly id: string; readonly digest: string | null }
    /** The environment of a branch that is to be deployed too. */
    readonly environment: { readonly row: ProjectRow; readonly branch: string; readonly commit: string } | null
  },
  { store }: ReceiveDeps,
  context: RequestContext,
) {
  const { row, head, push, pull, verdict, delivery } = received
  const { forge, event } = head
  return store.transaction(async (tx) => {
    const before = await store.deploys.receivedBefore(row.id, delivery.id, delivery.digest)
    if (before !== null) {
      const reason = `It was received already, at ${before}: nothing is done.`
      return { delivery: delivery.id, outcome: 'replayed' as const, reason, deploy: null }
    }
    const actor = actorOf({ forge, id: delivery.id })
    const due = [
      ...(verdict.act === 'deploy' ? [{ row, branch: verdict.branch, commit: verdict.commit }] : []),
      ...(received.environment === null ? [] : [received.environment]),
    ]
    const ids: string[] = []
    for (const { row: of, branch, commit } of due) {
      const id = newId('dpl')
      ids.push(id)
      await tx.deploys.supersede(of.id, `A newer push came: ${commit.slice(0, 10)}.`)
      const deploy = { id, project: of.id, trigger: 'push', actor, forge, state: 'waiting', branch, commit } as const
      await tx.deploys.insert({ ...deploy, operation: null })
      const changes = { delivery: delivery.id, branch, commit, deploy: id }
      const asked = { action: 'project.git.push_received', target: of.slug, project: of.id, changes }
      await tx.audit.append({ ...context.audit(asked), actor })
    }
    const deploy = ids[0] ?? null
    const outcome = deploy === null && pull === null ? ('ignored' as const) : ('accepted' as const)
    if (pull !== null) await passOver(tx, row.id, pull.number, store)
    const reason = deploy !== null || verdict.act === 'deploy' ? null : verdict.reason
    const told = { id: delivery.id, forge, event, ref: push?.ref ?? null, commit: push?.after ?? null }
    const kept = { ...told, project: row.id, digest: delivery.digest, pending: pull }
    await tx.deploys.insertDelivery({ ...kept, outcome, reason, deploy })
    await tx.deploys.keepNewest(row.id, keptDeploys, keptDeliveries)
    return { delivery: delivery.id, outcome, reason, deploy }
  })
}

/** What waits to be followed and is older says nothing any more: the newest says how the pull request is. */
async function passOver(tx: Transaction, project: string, number: number, store: Store): Promise<void> {
  for (const one of await store.deploys.pendingPullRequests(project))
    if (one.pending.number === number)
      await tx.deploys.settleDelivery(one, {
        outcome: 'ignored',
        reason: 'A newer delivery tells of it.',
        deploy: null,
      })
}
