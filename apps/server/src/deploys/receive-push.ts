import { createHash, timingSafeEqual } from 'node:crypto'
import { ProblemError } from '@stackquay/contract'
import { type DeliveryHead, deliveryHead, judgePush, type Push, pushOf, type Verdict } from '@stackquay/domain'
import { newId, type ProjectRow, type Store } from '@stackquay/store'
import { networkOf } from '../access/throttle.ts'
import type { Repositories } from '../git/repository.ts'
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
  readonly keeper: Pick<DeployKeeper, 'wake'>
  readonly refusals: RefusedDeliveries
  readonly now: () => Date
}

/** The last delivery of each project that was not signed right: for the person who looks why nothing comes. */
export type RefusedDeliveries = Map<string, { readonly at: string; readonly reason: string }>

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
        deps.refusals.set(row.id, { at: now().toISOString(), reason: check.reason })
        throw new ProblemError('signature_invalid', check.reason)
      }
      deliveries.take(row.id)
      const digest = createHash('sha256').update(body).digest('hex')
      const delivery = { id: head.id ?? digest.slice(0, 32), digest: check.signed ? digest : null }
      const push = pushOf(head, payloadOf(body, context))
      const verdict = await judge(row, settings, head, push, deps, context)
      const answer = await note({ row, head, push, verdict, delivery }, deps, context)
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
    readonly verdict: Verdict
    readonly delivery: { readonly id: string; readonly digest: string | null }
  },
  { store }: ReceiveDeps,
  context: RequestContext,
) {
  const { row, head, push, verdict, delivery } = received
  const { forge, event } = head
  return store.transaction(async (tx) => {
    const before = await store.deploys.receivedBefore(row.id, delivery.id, delivery.digest)
    if (before !== null) {
      const reason = `It was received already, at ${before}: nothing is done.`
      return { delivery: delivery.id, outcome: 'replayed' as const, reason, deploy: null }
    }
    const actor = `webhook (${forge}: ${delivery.id})`
    const isDeploy = verdict.act === 'deploy'
    const deploy = isDeploy ? newId('dpl') : null
    if (isDeploy && deploy !== null) {
      await tx.deploys.supersede(row.id, `A newer push came: ${verdict.commit.slice(0, 10)}.`)
      await tx.deploys.insert({
        id: deploy,
        project: row.id,
        trigger: 'push',
        actor,
        forge,
        state: 'waiting',
        branch: verdict.branch,
        commit: verdict.commit,
        operation: null,
      })
      const changes = { delivery: delivery.id, branch: verdict.branch, commit: verdict.commit, deploy }
      const entry = context.audit({
        action: 'project.git.push_received',
        target: row.slug,
        project: row.id,
        changes,
      })
      await tx.audit.append({ ...entry, actor })
    }
    const outcome = isDeploy ? ('accepted' as const) : ('ignored' as const)
    const reason = isDeploy ? null : verdict.reason
    const told = { id: delivery.id, forge, event, ref: push?.ref ?? null, commit: push?.after ?? null }
    await tx.deploys.insertDelivery({ ...told, project: row.id, digest: delivery.digest, outcome, reason, deploy })
    await tx.deploys.keepNewest(row.id, keptDeploys, keptDeliveries)
    return { delivery: delivery.id, outcome, reason, deploy }
  })
}
