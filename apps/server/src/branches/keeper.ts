import { branchFate, goneSince } from '@stackquay/domain'
import { type BranchRow, byTheService, type ProjectRow, type Store } from '@stackquay/store'
import { remoteBranches } from '../git/remote.ts'
import type { Repositories } from '../git/repository.ts'
import { remoteOf } from '../git/sealed-remote.ts'
import type { RequestContext } from '../http/handler.ts'
import { type Looked, lookAgain } from '../look-again.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { beginDeletion } from '../projects/handlers/delete-project.ts'
import type { NetworkHalf } from '../source/git-home.ts'
import { hasUnsaved } from './branch-view.ts'
import { branchSettings } from './create-environment.ts'

export interface BranchKeeperOptions extends Pick<ChangeDeps, 'store' | 'model' | 'orchestrator'> {
  readonly repositories: Repositories
  readonly gitHalf: NetworkHalf
  readonly now: () => Date
  readonly ready: Promise<void>
  onError(error: unknown, what: string): void
}

/** Asks remotes whether branches are still there, and removes the environments of those that are not, after their time. */
export function openBranchKeeper({ ready, ...options }: BranchKeeperOptions): { close(): Promise<void> } {
  const life = new AbortController()
  const asked = new Map<string, number>()
  const looking = lookAgain({
    store: options.store,
    ready,
    look: () => look(asked, options, life.signal),
    mayMatter: ({ type }) => type === 'branch.changed',
    leastRestMs: 1000,
    mostRestMs: everyMs,
    at: 'branch environments',
    onError: options.onError,
  })
  return {
    close: async () => {
      life.abort()
      await looking.close()
    },
  }
}

/** Pushes tell at once; this is for what nobody told. */
const everyMs = 10 * 60_000

type Deps = Omit<BranchKeeperOptions, 'ready'>

async function look(asked: Map<string, number>, deps: Deps, signal: AbortSignal): Promise<Looked> {
  const { store, now, onError } = deps
  const rows = (await store.branches.all()).filter(({ project }) => project !== null)
  for (const id of new Set(rows.map(({ parent }) => parent))) {
    if (signal.aborted) break
    const parent = await store.projects.find(id)
    if (parent === null || parent.phase !== 'ready') continue
    const last = asked.get(id) ?? 0
    if (now().getTime() - last >= everyMs || now().getTime() < last) {
      asked.set(id, now().getTime())
      await askRemote(parent, deps, signal).catch((error: unknown) => {
        // A remote that does not answer says nothing of its branches.
        if (!signal.aborted) onError(error, `asking the remote of ${parent.slug} for its branches`)
      })
    }
    for (const row of await store.branches.of(id)) await removeDue(parent, row, deps, signal)
  }
  return { restMs: everyMs, waits: false }
}

async function askRemote(parent: ProjectRow, deps: Deps, signal: AbortSignal): Promise<void> {
  const { store, gitHalf, now } = deps
  const remote = await remoteOf(parent, store)
  if (remote === null) return
  const there = await remoteBranches(remote, gitHalf, { signal, say: () => undefined })
  for (const row of await store.branches.of(parent.id)) {
    // The branch of a fork is not here; its pull request says when it is over.
    if (row.pullRequest?.fork === true) continue
    await noteSeen(parent, row, there.get(row.branch) ?? null, { store, now })
  }
}

/** What the remote had on the branch of an environment. */
export async function noteSeen(
  { id }: Pick<ProjectRow, 'id'>,
  row: BranchRow,
  seen: string | null,
  { store, now }: { readonly store: Store; readonly now: () => Date },
): Promise<void> {
  const next = goneSince(row, seen, now())
  if (next.seenCommit === row.seenCommit && next.goneAt === row.goneAt) return
  await store.transaction(async (tx) => {
    await tx.branches.update(id, row.branch, { ...next, ...(next.goneAt === null ? { warning: null } : {}) })
    const data = { branch: row.branch, environment: row.project, gone: next.goneAt }
    await tx.events.append({ type: 'branch.changed', project: id, data })
  })
}

async function removeDue(parent: ProjectRow, row: BranchRow, deps: Deps, signal: AbortSignal): Promise<void> {
  const { store, now, onError } = deps
  const project = row.project === null ? null : await store.projects.find(row.project)
  if (project === null || project.phase !== 'ready' || row.goneAt === null) return
  const { keepDays } = branchSettings(parent)
  if (branchFate({ goneAt: row.goneAt, unsaved: false }, keepDays, now()).act === 'keep') return
  const unsaved = await hasUnsaved(project, row.seenCommit, deps, signal)
  if (branchFate({ goneAt: row.goneAt, unsaved }, keepDays, now()).act === 'tell') {
    const warning = unsaved === null ? unreadable : unsavedText
    if (row.warning !== warning)
      await store.transaction(async (tx) => {
        await tx.branches.update(parent.id, row.branch, { warning })
        const data = { branch: row.branch, environment: row.project, gone: row.goneAt, warning }
        await tx.events.append({ type: 'branch.changed', project: parent.id, data })
      })
    return
  }
  await removeEnvironment(project, `The branch ${row.branch} is gone.`, deps).catch((error: unknown) =>
    onError(error, `removing the environment ${project.slug}`),
  )
}

const unsavedText =
  'Its branch is gone, and it has files or commits that are nowhere else: it stays until somebody deletes it.'
const unreadable = 'Its branch is gone, and its repository cannot be read: it stays until somebody deletes it.'

/** Into the trash, by the service itself. */
export async function removeEnvironment(
  project: ProjectRow,
  because: string,
  deps: Pick<ChangeDeps, 'store' | 'model' | 'orchestrator'>,
): Promise<void> {
  const asker: Pick<RequestContext, 'actor' | 'requestId' | 'audit'> = {
    actor: 'system',
    requestId: '',
    audit: ({ changes, operationId = null, ...entry }) => ({
      ...byTheService({ ...entry, changes: { ...(changes as object), because } }),
      operationId,
    }),
  }
  await beginDeletion(project, { data: 'delete', purge: false, action: 'project.branch.delete' }, asker, deps)
}
