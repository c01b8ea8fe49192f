import type { GitState, Plan } from '@stackquay/contract'
import type { ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { operationView } from '../projects/view.ts'
import type { NetworkHalf } from '../source/git-home.ts'
import type { GitAct, Person } from './acting.ts'
import { branchesOf, diffOf, logOf } from './history.ts'
import { detached, noRemote, refused, requireClean } from './refusals.ts'
import { hostKeysOf } from './remote.ts'
import { remoteHandlers } from './remote-handlers.ts'
import type { Repositories } from './repository.ts'
import { deployKeyOf, ownRemoteOf, remoteOf, setRemoteOf, shownUsername } from './sealed-remote.ts'
import { planOfPull } from './source-changes.ts'
import { localState, noState } from './state.ts'

export interface GitDeps extends ChangeDeps {
  readonly repositories: Repositories
  readonly gitHalf: NetworkHalf
}

type GitHandlers = Pick<
  Handlers,
  | 'getGit'
  | 'getGitDiff'
  | 'getGitLog'
  | 'listGitBranches'
  | 'putGit'
  | 'createGitDeployKey'
  | 'fetchGit'
  | 'pullGit'
  | 'checkoutGit'
  | 'commitGit'
  | 'pushGit'
  | 'discardGit'
>

/** The repository of a project: read at once, changed by operations. */
export function gitHandlers(deps: GitDeps, answers: ProjectAnswers): GitHandlers {
  const { repositories } = deps
  const { find } = answers
  const open = async (id: string, { signal }: RequestContext) => repositories.open(await find(id), signal)
  return {
    ...remoteHandlers(deps, answers, (row, context) => stateOf(row, deps, context)),
    ...actHandlers(deps, answers),

    getGit: async ({ params }, context) => ({
      status: 200,
      body: await stateOf(await find(params.id), deps, context),
    }),

    getGitDiff: async ({ params, query }, context) => {
      const asked = { path: query.path, staged: query.staged === 'true', commit: query.commit }
      return { status: 200, body: await diffOf(await open(params.id, context), asked, context.signal) }
    },

    getGitLog: async ({ params, query }, context) => {
      const asked = { branch: query.branch, limit: query.limit ?? 50, cursor: query.cursor }
      return { status: 200, body: await logOf(await open(params.id, context), asked, context.signal) }
    },

    listGitBranches: async ({ params }, context) => {
      const items = await branchesOf(await open(params.id, context), context.signal)
      return { status: 200, body: { items } }
    },
  }
}

async function stateOf(row: ProjectRow, deps: GitDeps, { signal }: RequestContext): Promise<GitState> {
  const { store, repositories, gitHalf } = deps
  const [{ repository, reason }, remote, own, set, deployKey] = await Promise.all([
    repositories.look(row, signal),
    remoteOf(row, store),
    ownRemoteOf(row, store),
    setRemoteOf(row, store),
    deployKeyOf(row, store),
  ])
  const credentials = own?.url.credentials ?? null
  return {
    repository: repository !== null,
    reason,
    url: remote?.url.url ?? null,
    ...(repository === null ? noState : await localState(repository, signal)),
    credentials:
      credentials === null && (set?.username ?? null) === null
        ? null
        : { username: shownUsername(set), hasToken: credentials !== null },
    deployKey,
    hostKeys: remote === null ? [] : [...(await hostKeysOf(remote, gitHalf))],
  }
}

function actHandlers(deps: GitDeps, { find, wait }: ProjectAnswers) {
  const begun = async (
    id: string,
    action: string,
    act: GitAct,
    query: { readonly wait?: number | undefined },
    context: RequestContext,
  ) => {
    const row = await find(id)
    refuseUnready(row)
    await requirePossible(row, act, deps, context)
    const operation = await accept(row, action, act, context, deps)
    const last = await wait(operation, query.wait, context)
    const isEnded = last.state !== 'queued' && last.state !== 'running'
    return { status: isEnded ? (200 as const) : (202 as const), body: operationView(last) }
  }
  const handlers: Pick<GitHandlers, 'fetchGit' | 'pullGit' | 'checkoutGit' | 'commitGit' | 'pushGit' | 'discardGit'> = {
    fetchGit: ({ params, query }, context) => begun(params.id, 'project.git.fetch', { act: 'fetch' }, query, context),
    pullGit: async ({ params, query, body }, context) => {
      if (query.dryRun === true)
        return { status: 200 as const, body: await planned(await find(params.id), deps, context) }
      const act = { act: 'pull', manner: body?.manner ?? 'fast-forward' } as const
      return begun(params.id, 'project.git.pull', act, query, context)
    },
    checkoutGit: ({ params, query, body }, context) => {
      const act = { act: 'checkout', branch: body.branch, create: body.create === true } as const
      return begun(params.id, 'project.git.checkout', act, query, context)
    },
    commitGit: ({ params, query, body }, context) => {
      const { message, paths = null, author = personOf(context) } = body
      return begun(params.id, 'project.git.commit', { act: 'commit', message, paths, author }, query, context)
    },
    pushGit: ({ params, query, body }, context) => {
      const act = { act: 'push', branch: body?.branch ?? null, force: body?.force === true } as const
      return begun(params.id, 'project.git.push', act, query, context)
    },
    discardGit: ({ params, query, body }, context) =>
      begun(params.id, 'project.git.discard', { act: 'discard', paths: body.paths }, query, context),
  }
  return handlers
}

async function planned(row: ProjectRow, deps: GitDeps, { signal }: RequestContext): Promise<Plan> {
  const repository = await deps.repositories.open(row, signal)
  if ((await remoteOf(row, deps.store)) === null) throw noRemote()
  const { branch } = await requireClean(repository, signal, 'a pull')
  if (branch === null) throw detached()
  const resolved = (await deps.resolver.look(row, [row.spec], 'now'))(row.spec)
  return planOfPull(repository, row, branch, { resolved, observed: deps.observations.of(row.id) }, signal)
}

/** What would be refused by the operation is refused now, where it can be known: nobody has to look for it there. */
async function requirePossible(row: ProjectRow, { act }: GitAct, deps: GitDeps, { signal }: RequestContext) {
  const repository = await deps.repositories.open(row, signal)
  const isOfNetwork = act === 'fetch' || act === 'pull' || act === 'push'
  if (isOfNetwork && (await remoteOf(row, deps.store)) === null) throw noRemote()
  if (act === 'push' && row.source?.kind === 'branch' && !row.source.inherits) await requireOwnRemote(row, deps)
  if (act === 'pull' || act === 'checkout') await requireClean(repository, signal, `a ${act}`)
}

/** The credentials of its project only bring commits. */
async function requireOwnRemote(row: ProjectRow, { store }: GitDeps): Promise<void> {
  if ((await ownRemoteOf(row, store)) !== null) return
  throw refused(
    'This environment has no credentials of its own to push with.',
    'Set its remote with a token (PUT /projects/{id}/git), or let branches inherit: branches.secrets.',
  )
}

async function accept(row: ProjectRow, action: string, act: GitAct, context: RequestContext, deps: GitDeps) {
  const { store } = deps
  const accepted = await store.transaction(async (tx) => {
    const input = { git: act, by: personOf(context) }
    const made = await acceptAlone(tx, store, row, context, input, 'git')
    await tx.audit.append(
      context.audit({
        action,
        target: row.slug,
        project: row.id,
        operationId: made.operation.id,
        changes: recorded(act),
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}

/** For the audit log: what was asked, not whole texts. */
function recorded(act: GitAct): Readonly<Record<string, unknown>> {
  switch (act.act) {
    case 'fetch':
      return {}
    case 'pull':
      return { manner: act.manner }
    case 'checkout':
      return { branch: act.branch, create: act.create }
    case 'commit':
      return { message: act.message.slice(0, 200), paths: act.paths?.slice(0, 50) ?? null }
    case 'push':
      return { branch: act.branch, force: act.force }
    case 'discard':
      return { paths: act.paths.slice(0, 50) }
    default:
      return act satisfies never
  }
}

/** Whoever asks. The service knows no addresses of people. */
function personOf({ principal }: RequestContext): Person {
  const text = principal.kind === 'anonymous' ? '' : principal.user.name
  const name = text.replaceAll(/[<>\p{Cc}]/gu, '').trim() || 'stackquay'
  return { name, email: `${name.replaceAll(/\s/g, '-')}@localhost` }
}
