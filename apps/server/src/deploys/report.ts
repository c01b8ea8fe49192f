import { type CommitState, statusRequest } from '@stackquay/domain'
import type { DeployRow, ProjectRow, Store } from '@stackquay/store'
import { remoteOf } from '../git/sealed-remote.ts'
import { post } from '../webhooks/post.ts'

export interface Reports {
  /** Not waited for: a forge that does not answer holds nothing up. */
  tell(deploy: DeployRow, state: CommitState): void
  /** Of those that ended and were not told yet. */
  tellEnded(): Promise<void>
  done(): Promise<unknown>
}

/**
 * Tells the forge that sent a push how its commit does, where a token is kept that may open the repository: by the rules for webhooks, without
 * following anywhere, and never a reason for a deploy to fail.
 */
export function createReports(
  {
    store,
    publicUrl,
    addressOf,
    onError,
  }: {
    readonly store: Store
    readonly publicUrl: string
    addressOf(row: ProjectRow): string
    onError(error: unknown, what: string): void
  },
  signal: AbortSignal,
): Reports {
  const busy = new Set<Promise<void>>()
  const underWay = new Set<string>()
  const run = (id: string, work: Promise<void>) => {
    underWay.add(id)
    const done = work
      .catch((error: unknown) => onError(error, 'telling a forge of a deploy'))
      .finally(() => {
        busy.delete(done)
        underWay.delete(id)
      })
    busy.add(done)
  }
  const tell = async (deploy: DeployRow, state: CommitState) => {
    const error = await send(deploy, state, { store, publicUrl, addressOf, signal })
    // Of the beginning nothing is kept: the end is told whatever became of that.
    if (signal.aborted || state === 'pending') return
    await store.transaction((tx) => tx.deploys.update(deploy.id, { reported: error ?? '' }))
  }
  return {
    tell: (deploy, state) => {
      if (deploy.forge !== null && deploy.commit !== null) run(deploy.id, tell(deploy, state))
    },
    tellEnded: async () => {
      for (const deploy of await store.deploys.unreported()) {
        if (underWay.has(deploy.id)) continue
        run(deploy.id, tell(deploy, deploy.state === 'succeeded' ? 'success' : 'failure'))
      }
    },
    done: () => Promise.all(busy),
  }
}

/** Null when it was told; else why not. */
async function send(
  { project, forge, commit, state: deployed, reason, rolledBack }: DeployRow,
  state: CommitState,
  {
    store,
    publicUrl,
    addressOf,
    signal,
  }: {
    readonly store: Store
    readonly publicUrl: string
    addressOf(row: ProjectRow): string
    readonly signal: AbortSignal
  },
): Promise<string | null> {
  const row = await store.projects.find(project)
  const remote = row === null ? null : await remoteOf(row, store)
  if (row === null || remote === null || forge === null || commit === null) return 'The project has no remote.'
  const token = remote.url.credentials?.password
  if (token === undefined) return 'No token is kept to tell the forge with.'
  const text = {
    pending: 'Being deployed',
    success: 'Deployed',
    failure: rolledBack ? 'Failed, and went back' : deployed === 'cancelled' ? 'Cancelled' : (reason ?? 'Failed'),
  }[state]
  const url = row.source?.kind === 'branch' ? addressOf(row) : `${publicUrl}/projects/${row.slug}/git`
  const request = statusRequest(forge, remote.url.url, token, { commit, state, text, url })
  if (request === null) return `${remote.url.url} is no address of a forge that can be told over HTTP.`
  const { error } = await post(request.url, { ...request.headers }, request.body, signal)
  return error === null ? null : `${new URL(request.url).host}: ${error}`.slice(0, 500)
}
