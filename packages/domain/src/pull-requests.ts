import { type DeliveryHead, gitlabKind } from './pushes.ts'

/** What a delivery says of a pull request (GitLab: merge request). */
export type PullRequestEvent = PullRequestCommit | PullRequestEnd

export interface PullRequestCommit {
  readonly act: 'open' | 'sync'
  readonly number: number
  readonly title: string
  readonly url: string | null
  /** Where its commits are; of a fork a name in the fork. */
  readonly branch: string
  /** Its newest commit. */
  readonly head: string
  /** Its commits are in another repository, whose owner may be anybody. */
  readonly fork: boolean
}

/** Merged or not. Its branch, its fork and the commit may be gone by then, so nothing else is read of it. */
export interface PullRequestEnd {
  readonly act: 'close'
  readonly number: number
}

type Fields = Readonly<Record<string, unknown>>

/** Pure. Null for what is none, changes no commit of one, or cannot be read. */
export function pullRequestOf(
  { forge, event }: Pick<DeliveryHead, 'forge' | 'event'>,
  payload: unknown,
): PullRequestEvent | null {
  const fields = fieldsOf(payload)
  if (forge === 'gitlab') return gitlabKind(event, fields) === 'merge_request' ? ofGitlab(fields) : null
  return event === 'pull_request' ? ofOthers(fields) : null
}

/** Where a forge keeps the commits of a pull request, those of forks too. */
export function pullRequestRef(forge: DeliveryHead['forge'], number: number): string {
  return forge === 'gitlab' ? `refs/merge-requests/${number}/head` : `refs/pull/${number}/head`
}

/** How the branch of a pull request from a fork is called here. */
export const forkBranch = (number: number) => `pull/${number}`

const actions: ReadonlyMap<unknown, PullRequestEvent['act']> = new Map([
  ['opened', 'open'],
  ['reopened', 'open'],
  ['synchronize', 'sync'],
  ['synchronized', 'sync'],
  ['closed', 'close'],
  ['open', 'open'],
  ['reopen', 'open'],
  ['close', 'close'],
  ['merge', 'close'],
])

function ofOthers(payload: Fields): PullRequestEvent | null {
  const pull = fieldsOf(payload.pull_request)
  const [head, base] = [fieldsOf(pull.head), fieldsOf(pull.base)]
  const from = repositoryOf(head)
  const to = repositoryOf(base)
  // Gitea and Forgejo name this where no branch has the commits: pushed to `refs/for/…`, by whoever may read.
  const isBranch = typeof head.ref !== 'string' || !head.ref.startsWith('refs/')
  return made({
    act: actions.get(payload.action),
    number: pull.number ?? payload.number,
    title: pull.title,
    url: pull.html_url,
    branch: head.ref,
    head: head.sha,
    // The repository of a fork may be gone; what is not said to be ours is a stranger’s.
    fork: from === null || to === null || from !== to || !isBranch,
  })
}

function repositoryOf(side: Fields): string | null {
  const id = fieldsOf(side.repo).id ?? side.repo_id
  return typeof id === 'number' || typeof id === 'string' ? String(id) : null
}

function ofGitlab(payload: Fields): PullRequestEvent | null {
  const about = fieldsOf(payload.object_attributes)
  const { action } = about
  // An update without it changes words alone.
  const act = action === 'update' ? (typeof about.oldrev === 'string' ? 'sync' : undefined) : actions.get(action)
  const [from, to] = [about.source_project_id, about.target_project_id]
  return made({
    act,
    number: about.iid,
    title: about.title,
    url: about.url,
    branch: about.source_branch,
    head: fieldsOf(about.last_commit).id,
    fork: typeof from !== 'number' || from !== to,
  })
}

function made(read: {
  readonly act: PullRequestEvent['act'] | undefined
  readonly number: unknown
  readonly title: unknown
  readonly url: unknown
  readonly branch: unknown
  readonly head: unknown
  readonly fork: boolean
}): PullRequestEvent | null {
  const { act, number, branch, head, fork } = read
  if (act === undefined || !Number.isSafeInteger(number) || (number as number) < 1) return null
  if (act === 'close') return { act, number: number as number }
  if (typeof branch !== 'string' || branch === '' || typeof head !== 'string') return null
  if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(head) || /^0+$/.test(head)) return null
  return {
    act,
    number: number as number,
    title: typeof read.title === 'string' ? read.title.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, 200) : '',
    url: typeof read.url === 'string' && /^https?:\/\/[^\s<>"]{1,1000}$/.test(read.url) ? read.url : null,
    branch: branch.slice(0, 250),
    head,
    fork,
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

/**
 * Pure. The name of the repository that a delivery is of, where that is certainly another than the one at `remote`: webhooks of an organisation or
 * a group tell of all that it has, each with numbers of its own. Null also where nobody can say.
 */
export function otherRepository(payload: unknown, remote: string | null): string | null {
  const fields = fieldsOf(payload)
  // GitLab: the project that the merge request is for.
  const project = fieldsOf(fields.project)
  const about = typeof project.path_with_namespace === 'string' ? project : fieldsOf(fields.repository)
  const name = about.path_with_namespace ?? about.full_name
  const ours = placeOf(remote)
  if (typeof name !== 'string' || name === '' || ours === null) return null
  const addresses = [about.clone_url, about.ssh_url, about.git_http_url, about.git_ssh_url, about.web_url]
  const isThisForge = addresses.some((address) => placeOf(address)?.host === ours.host)
  const path = name.toLowerCase()
  return !isThisForge || ours.path === path || ours.path.endsWith(`/${path}`) ? null : name.slice(0, 200)
}

/** Of an address of git: `https://host/path.git`, `ssh://…` or `git@host:path`. */
function placeOf(address: unknown): { readonly host: string; readonly path: string } | null {
  if (typeof address !== 'string') return null
  const [, host, short] = /^(?:[^@/:]+@)?([^/:]+):(?!\/\/)(.+)$/.exec(address) ?? []
  const url = host === undefined ? URL.parse(address) : null
  const found = url === null ? { host, path: short } : { host: url.hostname, path: url.pathname }
  if (!found.host || !found.path) return null
  const path = found.path.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
  return { host: found.host.toLowerCase(), path: path.toLowerCase() }
}
