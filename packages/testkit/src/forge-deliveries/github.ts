/*
 * The fields of the example payloads of GitHub (github.com/octokit/webhooks, payload-examples/api.github.com: push, ping, pull_request;
 * docs.github.com, "Webhook events and payloads"), with people, repositories and commits of our own.
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

const api = 'https://api.github.com'

const user = (login: string, id: number) => ({
  login,
  id,
  node_id: 'MDQ6VXNlcjE=',
  avatar_url: `https://avatars.githubusercontent.com/u/${id}?v=4`,
  gravatar_id: '',
  url: `${api}/users/${login}`,
  html_url: `https://github.com/${login}`,
  followers_url: `${api}/users/${login}/followers`,
  repos_url: `${api}/users/${login}/repos`,
  events_url: `${api}/users/${login}/events{/privacy}`,
  type: 'User',
  site_admin: false,
})

const repository = (owner: string, id: number) => ({
  id,
  node_id: 'MDEwOlJlcG9zaXRvcnkx',
  name: 'shop',
  full_name: `${owner}/shop`,
  private: false,
  owner: user(owner, id),
  html_url: `https://github.com/${owner}/shop`,
  description: null,
  fork: owner !== 'grace',
  url: `${api}/repos/${owner}/shop`,
  statuses_url: `${api}/repos/${owner}/shop/statuses/{sha}`,
  pulls_url: `${api}/repos/${owner}/shop/pulls{/number}`,
  created_at: '2026-02-03T15:19:25Z',
  updated_at: '2026-02-03T15:19:27Z',
  pushed_at: '2026-02-03T15:20:32Z',
  git_url: `git://github.com/${owner}/shop.git`,
  ssh_url: `git@github.com:${owner}/shop.git`,
  clone_url: `https://github.com/${owner}/shop.git`,
  svn_url: `https://github.com/${owner}/shop`,
  size: 0,
  language: null,
  archived: false,
  disabled: false,
  default_branch: 'main',
  is_template: false,
  topics: [],
  visibility: 'public',
})

const commit = (id: string) => ({
  id,
  tree_id: 'b2'.repeat(20),
  distinct: true,
  message: 'Carts remember what is in them',
  timestamp: '2026-02-03T15:19:25Z',
  url: `https://github.com/grace/shop/commit/${id}`,
  author: { name: 'Grace', email: 'grace@example.com', username: 'grace' },
  committer: { name: 'Grace', email: 'grace@example.com', username: 'grace' },
  added: ['cart.js'],
  removed: [],
  modified: [],
})

const push = (ref: string, from: string, to: string, more: object = {}) => ({
  ref,
  before: from,
  after: to,
  // Numbers here, and text in other events.
  repository: { ...repository('grace', 71), created_at: 1770131965, pushed_at: 1770132032, master_branch: 'main' },
  pusher: { name: 'grace', email: 'grace@example.com' },
  sender: user('grace', 71),
  created: from === none,
  deleted: to === none,
  forced: false,
  base_ref: null,
  compare: `https://github.com/grace/shop/compare/${from.slice(0, 12)}...${to.slice(0, 12)}`,
  commits: to === none ? [] : [commit(to)],
  head_commit: to === none ? null : commit(to),
  ...more,
})

const side = (owner: string, ref: string, sha: string, id: number) => ({
  label: `${owner}:${ref}`,
  ref,
  sha,
  user: user(owner, id),
  repo: repository(owner, id) as object | null,
})

const pullRequest = (sha: string, more: object = {}) => ({
  url: `${api}/repos/grace/shop/pulls/${pullNumber}`,
  id: 279,
  node_id: 'MDExOlB1bGxSZXF1ZXN0MQ==',
  html_url: `https://github.com/grace/shop/pull/${pullNumber}`,
  diff_url: `https://github.com/grace/shop/pull/${pullNumber}.diff`,
  issue_url: `${api}/repos/grace/shop/issues/${pullNumber}`,
  number: pullNumber,
  state: 'open',
  locked: false,
  title: 'Carts remember what is in them',
  user: user('grace', 71),
  body: null,
  created_at: '2026-02-03T15:20:33Z',
  updated_at: '2026-02-03T15:20:33Z',
  closed_at: null,
  merged_at: null,
  merge_commit_sha: null,
  assignee: null,
  assignees: [],
  requested_reviewers: [],
  requested_teams: [],
  labels: [],
  milestone: null,
  statuses_url: `${api}/repos/grace/shop/statuses/${sha}`,
  head: side('grace', 'cart', sha, 71),
  base: side('grace', 'main', before, 71),
  _links: { self: { href: `${api}/repos/grace/shop/pulls/${pullNumber}` } },
  author_association: 'OWNER',
  auto_merge: null,
  active_lock_reason: null,
  draft: false,
  merged: false,
  mergeable: null,
  mergeable_state: 'unknown',
  merged_by: null,
  commits: 1,
  additions: 1,
  deletions: 1,
  changed_files: 1,
  ...more,
})

const event = (action: string, pulled: object, more: object = {}) => ({
  action,
  number: pullNumber,
  pull_request: pulled,
  repository: repository('grace', 71),
  sender: user('grace', 71),
  ...more,
})

const label = { id: 1, node_id: 'MDU6TGFiZWwx', url: `${api}/labels/bug`, name: 'bug', color: 'd73a4a', default: true }
const ended = { state: 'closed', closed_at: '2026-02-04T09:00:00Z' }
const merged = { ...ended, merged: true, merged_at: '2026-02-04T09:00:00Z', merge_commit_sha: 'c4'.repeat(20) }

const rows: readonly (readonly [name: string, event: string, payload: object, says: Said])[] = [
  ['a push', 'push', push('refs/heads/main', before, after), deploy],
  ['a forced push', 'push', push('refs/heads/main', before, after, { forced: true }), deploy],
  ['the first push', 'push', push('refs/heads/main', none, after), deploy],
  ['a push to another branch', 'push', push('refs/heads/cart', before, head), nothing],
  ['a tag', 'push', push('refs/tags/v1', none, after, { base_ref: 'refs/heads/main' }), nothing],
  ['a tag that is deleted', 'push', push('refs/tags/v1', before, none), nothing],
  ['a branch that is deleted', 'push', push('refs/heads/main', before, none), nothing],
  [
    'a ping',
    'ping',
    {
      zen: 'Anything added dilutes everything else.',
      hook_id: 109,
      hook: { type: 'Repository', id: 109, name: 'web', active: true, events: ['push'], config: {} },
      repository: repository('grace', 71),
      sender: user('grace', 71),
    },
    nothing,
  ],
  ['a new branch', 'create', { ref: 'cart', ref_type: 'branch', master_branch: 'main' }, nothing],
  ['opened', 'pull_request', event('opened', pullRequest(head)), pull('open', head)],
  ['a draft', 'pull_request', event('opened', pullRequest(head, { draft: true })), pull('open', head)],
  ['reopened', 'pull_request', event('reopened', pullRequest(head)), pull('open', head)],
  [
    'another commit',
    'pull_request',
    event('synchronize', pullRequest(next), { before: head, after: next }),
    pull('sync', next),
  ],
  [
    'opened from a fork',
    'pull_request',
    event('opened', pullRequest(head, { head: side('mallory', 'main', head, 93) })),
    pull('open', head, true, 'main'),
  ],
  ['merged', 'pull_request', event('closed', pullRequest(head, merged)), close],
  ['closed unmerged', 'pull_request', event('closed', pullRequest(head, ended)), close],
  [
    'closed, its fork deleted',
    'pull_request',
    event('closed', pullRequest(head, { ...ended, head: { ...side('mallory', 'main', head, 93), repo: null } })),
    close,
  ],
  ...['labeled', 'unlabeled'].map(
    (action) =>
      [action, 'pull_request', event(action, pullRequest(head, { labels: [label] }), { label }), nothing] as const,
  ),
  ...['edited', 'assigned', 'locked', 'ready_for_review', 'converted_to_draft', 'review_requested', 'enqueued'].map(
    (action) => [action, 'pull_request', event(action, pullRequest(head)), nothing] as const,
  ),
]

export const githubDeliveries: readonly ForgeDelivery[] = rows.map(([name, kind, payload, says], at) => ({
  name,
  forge: 'github',
  headers: {
    'user-agent': 'GitHub-Hookshot/044aadd',
    'content-type': 'application/json',
    'x-github-delivery': `72d3162e-cc78-11e3-81ab-${String(at).padStart(12, '0')}`,
    'x-github-event': kind,
    'x-github-hook-id': '292430182',
    'x-github-hook-installation-target-type': 'repository',
  },
  payload: payload as ForgeDelivery['payload'],
  says,
}))
