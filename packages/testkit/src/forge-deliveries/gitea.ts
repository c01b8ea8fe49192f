/*
 * The fields of the example payloads of Gitea and Forgejo (docs.gitea.com and forgejo.org, "Webhooks"; the pull request as their API describes it),
 * with people, repositories and commits of our own. The two differ in their headers.
 */
import {
  after,
  before,
  close,
  deploy,
  type ForgeDelivery,
  head,
  next,
  none,
  nothing,
  pull,
  pullNumber,
  type Said,
} from './delivery.ts'

const forge = 'http://git.example.com:3000'

const user = (login: string, id: number) => ({
  id,
  login,
  login_name: '',
  full_name: login,
  email: `${login}@noreply.example.com`,
  avatar_url: `${forge}/avatars/${id}`,
  username: login,
})

const repository = (owner: string, id: number) => ({
  id,
  owner: user(owner, id),
  name: 'shop',
  full_name: `${owner}/shop`,
  description: '',
  empty: false,
  private: false,
  fork: owner !== 'grace',
  mirror: false,
  html_url: `${forge}/${owner}/shop`,
  ssh_url: `ssh://git@git.example.com:2222/${owner}/shop.git`,
  clone_url: `${forge}/${owner}/shop.git`,
  original_url: '',
  default_branch: 'main',
  archived: false,
  created_at: '2026-02-03T15:19:25Z',
  updated_at: '2026-02-03T15:19:27Z',
})

const person = { name: 'Grace', email: 'grace@example.com', username: 'grace' }
const commit = (id: string) => ({
  id,
  message: 'Carts remember what is in them\n',
  url: `${forge}/grace/shop/commit/${id}`,
  author: person,
  committer: person,
  verification: null,
  timestamp: '2026-02-03T15:19:25Z',
  added: ['cart.js'],
  removed: [],
  modified: [],
})

const push = (ref: string, from: string, to: string) => ({
  ref,
  before: from,
  after: to,
  compare_url: `${forge}/grace/shop/compare/${from}...${to}`,
  commits: to === none ? [] : [commit(to)],
  total_commits: to === none ? 0 : 1,
  head_commit: to === none ? null : commit(to),
  repository: repository('grace', 140),
  pusher: user('grace', 140),
  sender: user('grace', 140),
})

const side = (owner: string, label: string, ref: string, sha: string, id: number) => ({
  label,
  ref,
  sha,
  repo_id: id,
  repo: repository(owner, id) as object | null,
})

const pullRequest = (action: string, sha: string, more: object = {}, beside: object = {}) => ({
  action,
  number: pullNumber,
  pull_request: {
    id: 7,
    url: `${forge}/grace/shop/pulls/${pullNumber}`,
    number: pullNumber,
    user: user('grace', 140),
    title: 'Carts remember what is in them',
    body: '',
    labels: [],
    milestone: null,
    assignee: null,
    assignees: null,
    requested_reviewers: null,
    state: 'open',
    draft: false,
    is_locked: false,
    comments: 0,
    html_url: `${forge}/grace/shop/pulls/${pullNumber}`,
    diff_url: `${forge}/grace/shop/pulls/${pullNumber}.diff`,
    patch_url: `${forge}/grace/shop/pulls/${pullNumber}.patch`,
    mergeable: true,
    merged: false,
    merged_at: null,
    merge_commit_sha: null,
    merged_by: null,
    allow_maintainer_edit: false,
    base: side('grace', 'main', 'main', before, 140),
    head: side('grace', 'cart', 'cart', sha, 140),
    merge_base: before,
    due_date: null,
    created_at: '2026-02-03T15:20:33Z',
    updated_at: '2026-02-03T15:20:33Z',
    closed_at: null,
    pin_order: 0,
    ...more,
  },
  requested_reviewer: null,
  repository: repository('grace', 140),
  sender: user('grace', 140),
  commit_id: '',
  review: null,
  ...beside,
})

const ended = { state: 'closed', closed_at: '2026-02-04T09:00:00Z' }
const merged = { ...ended, merged: true, merged_at: '2026-02-04T09:00:00Z', merge_commit_sha: 'c4'.repeat(20) }
/** Where the commits are that no branch has. */
const kept = `refs/pull/${pullNumber}/head`

const rows: readonly (readonly [name: string, event: string, type: string, payload: object, says: Said])[] = [
  ['a push', 'push', 'push', push('refs/heads/main', before, after), deploy],
  ['the first push', 'push', 'push', push('refs/heads/main', none, after), deploy],
  ['a push to another branch', 'push', 'push', push('refs/heads/cart', before, head), nothing],
  ['a tag', 'push', 'push', push('refs/tags/v1', none, after), nothing],
  ['a branch that is deleted', 'push', 'push', push('refs/heads/main', before, none), nothing],
  ['the deletion of a branch', 'delete', 'delete', { ref: 'main', ref_type: 'branch', pusher_type: 'user' }, nothing],
  ['opened', 'pull_request', 'pull_request', pullRequest('opened', head), pull('open', head)],
  ['a draft', 'pull_request', 'pull_request', pullRequest('opened', head, { draft: true }), pull('open', head)],
  ['reopened', 'pull_request', 'pull_request', pullRequest('reopened', head), pull('open', head)],
  ['another commit', 'pull_request', 'pull_request_sync', pullRequest('synchronized', next), pull('sync', next)],
  [
    'opened from a fork',
    'pull_request',
    'pull_request',
    pullRequest('opened', head, { head: side('mallory', 'main', 'main', head, 9) }),
    pull('open', head, true, 'main'),
  ],
  [
    // Pushed to `refs/for/main` by somebody who may only read: it is said to be of this repository, and no branch has it.
    'opened without a branch',
    'pull_request',
    'pull_request',
    pullRequest('opened', head, { head: side('grace', '', kept, head, 140) }),
    pull('open', head, true, kept),
  ],
  ['merged', 'pull_request', 'pull_request', pullRequest('closed', head, merged), close],
  ['closed unmerged', 'pull_request', 'pull_request', pullRequest('closed', head, ended), close],
  [
    'merged, its branch deleted',
    'pull_request',
    'pull_request',
    pullRequest('closed', head, { ...merged, head: side('grace', 'cart', kept, head, 140) }),
    close,
  ],
  [
    'closed, its fork deleted',
    'pull_request',
    'pull_request',
    pullRequest('closed', head, { ...ended, head: { label: 'main', ref: kept, sha: '', repo_id: -1, repo: null } }),
    close,
  ],
  ...['label_updated', 'label_cleared'].map(
    (action) => [action, 'pull_request', 'pull_request_label', pullRequest(action, head), nothing] as const,
  ),
  ...['edited', 'assigned', 'milestoned', 'review_requested'].map(
    (action) => [action, 'pull_request', 'pull_request', pullRequest(action, head), nothing] as const,
  ),
  [
    'a review',
    'pull_request_approved',
    'pull_request_review_approved',
    pullRequest('reviewed', head, {}, { review: { type: 'pull_request_review_approved', content: 'Good.' } }),
    nothing,
  ],
]

const deliveriesOf = (name: 'gitea' | 'forgejo'): readonly ForgeDelivery[] =>
  rows.map(([title, event, type, payload, says], at) => {
    const id = `f6266f16-1bf3-46a5-9ea4-${String(at).padStart(12, '0')}`
    const own = name === 'forgejo' ? ['Forgejo', 'Gitea', 'Gogs', 'GitHub'] : ['Gitea', 'Gogs', 'GitHub']
    const sent = own.flatMap((prefix) => [
      [`x-${prefix.toLowerCase()}-delivery`, id],
      [`x-${prefix.toLowerCase()}-event`, event],
      [`x-${prefix.toLowerCase()}-event-type`, type],
    ])
    const headers = { ...Object.fromEntries(sent), 'content-type': 'application/json' }
    return { name: title, forge: name, headers, payload: payload as ForgeDelivery['payload'], says }
  })

export const giteaDeliveries = deliveriesOf('gitea')
export const forgejoDeliveries = deliveriesOf('forgejo')
