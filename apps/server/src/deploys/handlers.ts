import type { Deploy, GitWebhook } from '@stackquay/contract'
import { ProblemError } from '@stackquay/contract'
import { commitBefore, releaseOfCommit } from '@stackquay/domain'
import { type DeployRow, newId, type ProjectRow } from '@stackquay/store'
import { isBranchName } from '../git/ref-names.ts'
import { noRemote, refused, requireClean } from '../git/refusals.ts'
import type { Repositories } from '../git/repository.ts'
import { remoteOf } from '../git/sealed-remote.ts'
import { headOf } from '../git/source-changes.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import type { FilesOf } from '../projects/files-of.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { operationView } from '../projects/view.ts'
import type { Awake } from '../sleep/fall-asleep-and-wake.ts'
import { acceptDeploy, recordedDeploy } from './accept-deploy.ts'
import type { DeployKeeper } from './keeper.ts'
import { planOfRollback } from './plan-rollback.ts'
import { receiveHandler } from './receive-push.ts'
import { newHookId, newHookSecret, putWebhook, type WebhookSettings, webhookOf } from './webhook-settings.ts'

export interface DeployDeps extends ChangeDeps {
  readonly repositories: Repositories
  readonly keeper: DeployKeeper
  readonly awake: Awake
  readonly filesOf: FilesOf
  readonly publicUrl: string
  readonly now: () => Date
}

type DeployHandlers = Pick<
  Handlers,
  'getGitWebhook' | 'putGitWebhook' | 'receivePush' | 'listDeploys' | 'createDeploy' | 'rollbackDeploy'
>

/** Pushes that become deploys, and deploys that people ask for. */
export function deployHandlers(deps: DeployDeps, answers: ProjectAnswers): DeployHandlers {
  const { find } = answers
  return {
    ...receiveHandler(deps),
    ...actHandlers(deps, answers),

    getGitWebhook: async ({ params }) => {
      const row = await find(params.id)
      return { status: 200, body: await viewOf(row, await webhookOf(row.id, deps.store), deps) }
    },

    putGitWebhook: async ({ params, body }, context) => {
      const row = await find(params.id)
      if (body.branch != null && !isBranchName(body.branch)) throw invalid('/branch', 'That is no name of a branch.')
      const { newSecret = false, ...changes } = body
      const { settings, secret } = await deps.store.transaction(async (tx) => {
        const before = await webhookOf(row.id, deps.store)
        const next = settled(before, changes, newSecret, row.id)
        await putWebhook(tx, row.id, next)
        const isOther = next.secret !== before.secret
        if (isOther) await tx.deploys.putRefused(row.id, null)
        await tx.audit.append(
          context.audit({
            action: 'project.git.webhook',
            target: row.slug,
            project: row.id,
            changes: { before: shown(before), after: shown(next), secret: isOther ? 'made' : 'as before' },
          }),
        )
        return { settings: next, secret: isOther ? next.secret : null }
      })
      if (secret !== null) deps.keeper.refusals.forget(row.id)
      const body200 = await viewOf(row, settings, deps)
      return { status: 200, body: secret === null ? body200 : { ...body200, secret } }
    },

    listDeploys: async ({ params, query }) => {
      const { id } = await find(params.id)
      const { limit = 50, cursor } = query
      const rows = await deps.store.deploys.list({
        project: id,
        limit: limit + 1,
        ...(cursor === undefined ? {} : { cursor }),
      })
      const items = rows.slice(0, limit).map(deployView)
      return { status: 200, body: { items, nextCursor: rows.length > limit ? items.at(-1)!.id : null } }
    },
  }
}

/** Address and secret are made when somebody first wants deliveries; what is switched off keeps both. */
function settled(
  before: WebhookSettings,
  changes: { readonly [Field in keyof WebhookSettings]?: WebhookSettings[Field] | undefined },
  newSecret: boolean,
  project: string,
): WebhookSettings {
  const said = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
  const next: WebhookSettings = { ...before, ...said }
  const isWanted = next.enabled || newSecret
  return {
    ...next,
    hook: next.hook ?? (isWanted ? newHookId(project) : null),
    secret: newSecret || (isWanted && next.secret === null) ? newHookSecret() : next.secret,
  }
}

const shown = ({ enabled, branch, manner, rollback, watch }: WebhookSettings) => ({
  enabled,
  branch,
  manner,
  rollback,
  watch,
})

async function viewOf(
  row: ProjectRow,
  settings: WebhookSettings,
  { store, keeper, publicUrl }: DeployDeps,
): Promise<GitWebhook> {
  const deliveries = await store.deploys.deliveries(row.id, 20)
  return {
    ...shown(settings),
    watched: settings.watch === null ? null : keeper.watched(row.id),
    address: settings.hook === null ? null : `${publicUrl}/api/v1/hooks/${settings.hook}`,
    refused: await keeper.refusals.last(row.id),
    deliveries: [...deliveries],
  }
}

function deployView({ project: _project, forge: _forge, ...deploy }: DeployRow): Deploy {
  return deploy
}

interface Asked {
  /** The commit that is gone back to; null: the branch as it is at the remote. */
  readonly to: string | null
  /** The deploy whose release that was, where it is known. */
  readonly of: string | null
  readonly action: string
}

function actHandlers(
  deps: DeployDeps,
  { find, wait }: ProjectAnswers,
): Pick<DeployHandlers, 'createDeploy' | 'rollbackDeploy'> {
  const begun = async (row: ProjectRow, asked: Asked, seconds: number | undefined, context: RequestContext) => {
    // What a commit does to data, and whether it is well, is seen in a project that runs.
    const operation = await accept(await deps.awake(row, context), asked, context, deps)
    const last = await wait(operation, seconds, context)
    const isOver = last.state !== 'queued' && last.state !== 'running'
    return { status: isOver ? (200 as const) : (202 as const), body: operationView(last) }
  }
  return {
    createDeploy: async ({ params, query }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const repository = await deps.repositories.open(row, context.signal)
      if ((await remoteOf(row, deps.store)) === null) throw noRemote()
      await requireClean(repository, context.signal, 'a deploy')
      return begun(row, { to: null, of: null, action: 'project.git.deploy' }, query.wait, context)
    },
    rollbackDeploy: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const { to, past } = await releaseToGoTo(row, body?.deploy, deps, context)
      if (query.dryRun === true)
        return { status: 200 as const, body: await planOfRollback(row, to, past, deps, context.signal) }
      return begun(row, { to, of: past?.id ?? null, action: 'project.git.rollback' }, query.wait, context)
    },
  }
}

/** The commit, and the deploy that says what it was well with; null where none does. */
async function releaseToGoTo(
  row: ProjectRow,
  asked: string | undefined,
  { store, repositories }: DeployDeps,
  { signal }: RequestContext,
): Promise<{ readonly to: string; readonly past: DeployRow | null }> {
  const repository = await repositories.open(row, signal)
  await requireClean(repository, signal, 'the way back')
  const deploys = await store.deploys.list({ project: row.id, limit: 200 })
  if (asked !== undefined) {
    const deploy = await store.deploys.find(asked)
    if (deploy?.project !== row.id || deploy.commit === null)
      throw new ProblemError('not_found', `The project has no deploy "${asked}" with a commit.`, {
        hint: 'See GET /projects/{id}/git/deploys.',
      })
    const past = deploy.release === null ? releaseOfCommit(deploys, deploy.commit) : deploy
    return { to: deploy.commit, past }
  }
  const commit = commitBefore(deploys, await headOf(repository, signal))
  if (commit !== null) return { to: commit, past: releaseOfCommit(deploys, commit) }
  throw refused('No deploy is known from before the commit that is there.', 'Name one: "deploy".')
}

async function accept(
  row: ProjectRow,
  { to, of, action }: Asked,
  context: RequestContext,
  { store, model, orchestrator }: DeployDeps,
) {
  const { manner, rollback, branch } = await webhookOf(row.id, store)
  const id = newId('dpl')
  const accepted = await store.transaction(async (tx) => {
    const input = { deploy: id, to, of, branch: to === null ? branch : null, manner, rollback }
    const made = await acceptDeploy(tx, store, row, context, input)
    const deploy = await tx.deploys.insert({
      id,
      project: row.id,
      trigger: to === null ? 'person' : 'rollback',
      actor: context.actor,
      forge: null,
      state: 'running',
      branch,
      commit: to,
      operation: made.operation.id,
    })
    const changes = recordedDeploy(deploy)
    const operationId = made.operation.id
    await tx.audit.append(context.audit({ action, target: row.slug, project: row.id, operationId, changes }))
    return made
  })
  begin(accepted, { model, orchestrator })
  return accepted.operation
}

function invalid(pointer: string, detail: string): ProblemError {
  return new ProblemError('validation_failed', detail, { errors: [{ pointer, code: 'invalid', detail }] })
}
