/*
 * The fields of the example payloads of GitLab (docs.gitlab.com: "Webhook events" for projects and groups, "System hooks" for an instance), with
 * people, projects and commits of our own.
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

const forge = 'https://gitlab.example.com'

const project = (path: string, id?: number) => ({
  ...(id === undefined ? {} : { id }),
  name: 'Shop',
  description: '',
  web_url: `${forge}/${path}`,
  avatar_url: null,
  git_ssh_url: `git@gitlab.example.com:${path}.git`,
  git_http_url: `${forge}/${path}.git`,
  namespace: 'Stores',
  visibility_level: 0,
  path_with_namespace: path,
  default_branch: 'main',
  ci_config_path: '',
  homepage: `${forge}/${path}`,
  url: `git@gitlab.example.com:${path}.git`,
  ssh_url: `git@gitlab.example.com:${path}.git`,
  http_url: `${forge}/${path}.git`,
})

const repository = { name: 'Shop', url: 'git@gitlab.example.com:stores/shop.git', homepage: `${forge}/stores/shop` }
const user = { id: 4, name: 'Grace', username: 'grace', avatar_url: null, email: '[REDACTED]' }

const commit = (id: string) => ({
  id,
  message: 'Carts remember what is in them',
  title: 'Carts remember what is in them',
  timestamp: '2026-02-03T15:19:25+00:00',
  url: `${forge}/stores/shop/-/commit/${id}`,
  author: { name: 'Grace', email: '[REDACTED]' },
  added: ['cart.js'],
  modified: [],
  removed: [],
})

const push = (ref: string, from: string, to: string, { system = false } = {}) => {
  const kind = ref.startsWith('refs/tags/') ? 'tag_push' : 'push'
  return {
    // The documented one of a whole instance has no object_kind.
    ...(system ? {} : { object_kind: kind }),
    event_name: kind,
    before: from,
    after: to,
    ref,
    ref_protected: true,
    checkout_sha: to === none ? null : to,
    user_id: 4,
    user_name: 'Grace',
    user_username: 'grace',
    user_email: '',
    user_avatar: null,
    project_id: 15,
    project: project('stores/shop', 15),
    repository: { ...repository, description: '', git_http_url: `${forge}/stores/shop.git`, visibility_level: 0 },
    commits: to === none ? [] : [commit(to)],
    total_commits_count: to === none ? 0 : 1,
  }
}

const mergeRequest = (action: string | null, sha: string, more: object = {}, changes: object = {}) => ({
  object_kind: 'merge_request',
  event_type: 'merge_request',
  user,
  project: project('stores/shop', 15),
  repository,
  object_attributes: {
    id: 99,
    iid: pullNumber,
    target_branch: 'main',
    source_branch: 'cart',
    source_project_id: 15,
    author_id: 4,
    assignee_ids: [],
    assignee_id: null,
    reviewer_ids: [],
    title: 'Carts remember what is in them',
    created_at: '2026-02-03 15:20:33 UTC',
    updated_at: '2026-02-03 15:20:33 UTC',
    milestone_id: null,
    state_id: 1,
    state: 'opened',
    blocking_discussions_resolved: true,
    work_in_progress: false,
    draft: false,
    merge_status: 'unchecked',
    detailed_merge_status: 'mergeable',
    target_project_id: 15,
    description: '',
    url: `${forge}/stores/shop/-/merge_requests/${pullNumber}`,
    source: project('stores/shop'),
    target: project('stores/shop'),
    last_commit: commit(sha) as object | null,
    labels: [],
    ...(action === null ? {} : { action }),
    ...more,
  },
  labels: [],
  changes,
  assignees: [],
  reviewers: [],
})

const ofFork = { source_project_id: 88, source_branch: 'main', source: project('mallory/shop') }
const ended = { state: 'closed', state_id: 2 }

const rows: readonly (readonly [name: string, event: string, payload: object, says: Said])[] = [
  ['a push', 'Push Hook', push('refs/heads/main', before, after), deploy],
  ['the first push', 'Push Hook', push('refs/heads/main', none, after), deploy],
  ['a push to another branch', 'Push Hook', push('refs/heads/cart', before, head), nothing],
  ['a branch that is deleted', 'Push Hook', push('refs/heads/main', before, none), nothing],
  ['a tag', 'Tag Push Hook', push('refs/tags/v1', none, after), nothing],
  ['a tag that is deleted', 'Tag Push Hook', push('refs/tags/v1', before, none), nothing],
  ['a push of an instance', 'System Hook', push('refs/heads/main', before, after, { system: true }), deploy],
  ['a tag of an instance', 'System Hook', push('refs/tags/v1', none, after, { system: true }), nothing],
  ['a merge request of an instance', 'System Hook', mergeRequest('open', head, { assignee: user }), pull('open', head)],
  [
    'an update of an instance',
    'System Hook',
    {
      event_name: 'repository_update',
      project_id: 15,
      project: project('stores/shop'),
      changes: [{ before, after, ref: 'refs/heads/main' }],
      refs: ['refs/heads/main'],
    },
    nothing,
  ],
  ['a member of a group', 'Member Hook', { event_name: 'user_add_to_group', group_path: 'stores' }, nothing],
  ['opened', 'Merge Request Hook', mergeRequest('open', head), pull('open', head)],
  ['a draft', 'Merge Request Hook', mergeRequest('open', head, { draft: true }), pull('open', head)],
  ['reopened', 'Merge Request Hook', mergeRequest('reopen', head), pull('open', head)],
  ['another commit', 'Merge Request Hook', mergeRequest('update', next, { oldrev: head }), pull('sync', next)],
  ['opened from a fork', 'Merge Request Hook', mergeRequest('open', head, ofFork), pull('open', head, true, 'main')],
  ['merged', 'Merge Request Hook', mergeRequest('merge', head, { state: 'merged', state_id: 3 }), close],
  ['closed unmerged', 'Merge Request Hook', mergeRequest('close', head, ended), close],
  [
    'closed, its fork deleted',
    'Merge Request Hook',
    mergeRequest('close', head, { ...ended, ...ofFork, source_project_id: null, source: null, last_commit: null }),
    close,
  ],
  [
    'labels',
    'Merge Request Hook',
    mergeRequest('update', head, {}, { labels: { previous: [], current: [{ id: 206, title: 'API' }] } }),
    nothing,
  ],
  [
    'no draft any more',
    'Merge Request Hook',
    mergeRequest('update', head, {}, { draft: { previous: true, current: false } }),
    nothing,
  ],
  ...['approved', 'unapproved', 'approval', 'unapproval'].map(
    (action) => [action, 'Merge Request Hook', mergeRequest(action, head), nothing] as const,
  ),
  // What the button "Test" sends says of no action.
  ['a test', 'Merge Request Hook', mergeRequest(null, head), nothing],
  ['a comment', 'Note Hook', { object_kind: 'note', event_type: 'note', merge_request: { iid: pullNumber } }, nothing],
]

export const gitlabDeliveries: readonly ForgeDelivery[] = rows.map(([name, kind, payload, says], at) => ({
  name,
  forge: 'gitlab',
  headers: {
    'user-agent': 'GitLab/18.2.0',
    'content-type': 'application/json',
    'idempotency-key': `f5e5f430-f57b-4e6e-9fac-${String(at).padStart(12, '0')}`,
    'x-gitlab-event': kind,
    'x-gitlab-webhook-uuid': '02affd2d-2cba-4033-917d-ec22d5dc4b38',
    'x-gitlab-instance': forge,
    'x-gitlab-event-uuid': '13792a34-cac6-4fda-95a8-c58e00a3954e',
  },
  payload: payload as ForgeDelivery['payload'],
  says,
}))
