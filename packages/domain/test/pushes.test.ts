import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Observed } from '@stackquay/engine-api'
import {
  commitBefore,
  deliveryHead,
  hasFallenOver,
  isNewAtRemote,
  judgePush,
  notWell,
  type PastDeploy,
  pushOf,
  statusRequest,
  watchMs,
} from '../src/index.ts'

const [a, b, c] = ['a', 'b', 'c'].map((one) => one.repeat(40)) as [string, string, string]
const none = '0'.repeat(40)
const head = (sent: Record<string, string>) => deliveryHead((name) => sent[name] ?? null)

/* As the forges document them, without what nobody here reads. */
const github = {
  ref: 'refs/heads/main',
  before: a,
  after: b,
  created: false,
  deleted: false,
  forced: false,
  commits: [],
  repository: { full_name: 'Codertocat/Hello-World', pushed_at: 1557933657 },
  pusher: { name: 'Codertocat' },
}
const gitlab = {
  object_kind: 'push',
  event_name: 'push',
  before: a,
  after: b,
  ref: 'refs/heads/main',
  checkout_sha: b,
  project: { path_with_namespace: 'mike/diaspora' },
  total_commits_count: 4,
}
const gitea = { ref: 'refs/heads/main', before: a, after: b, compare_url: '', commits: [], repository: { id: 140 } }

test('each forge is known by its headers, also when it sends those of another', () => {
  assert.deepEqual(head({ 'x-github-event': 'push', 'x-github-delivery': '72d3162e' }), {
    forge: 'github',
    event: 'push',
    id: '72d3162e',
  })
  const asGitea = {
    'x-github-event': 'push',
    'x-gogs-event': 'push',
    'x-gitea-event': 'push',
    'x-gitea-delivery': 'f6',
  }
  assert.deepEqual(head(asGitea), { forge: 'gitea', event: 'push', id: 'f6' })
  assert.equal(head({ ...asGitea, 'x-forgejo-event': 'push' })?.forge, 'forgejo')
  assert.deepEqual(head({ 'x-gitlab-event': 'Push Hook', 'idempotency-key': 'k', 'x-gitlab-event-uuid': 'u' }), {
    forge: 'gitlab',
    event: 'Push Hook',
    id: 'k',
  })
  assert.equal(head({ 'x-gitlab-event': 'Push Hook' })?.id, null)
  assert.equal(head({ 'content-type': 'application/json' }), null)
  assert.equal(head({ 'x-github-event': 'a\u001b[31m' })?.event.includes('\u001b'), false)
})

test('a push of each forge is deployed; tags, deletions, other branches and what is there are not, and say why', () => {
  const at = { branch: 'main', current: a }
  for (const [forge, event, payload] of [
    ['github', 'push', github],
    ['gitlab', 'Push Hook', gitlab],
    ['gitea', 'push', gitea],
    ['forgejo', 'push', gitea],
  ] as const) {
    const told = { forge, event }
    const judge = (change: object, where: { branch: string | null; current: string | null } = at) =>
      judgePush(told, pushOf(told, { ...payload, ...change }), where)
    assert.deepEqual(judge({}), { act: 'deploy', branch: 'main', commit: b })
    assert.deepEqual(judge({ before: none, after: c }), { act: 'deploy', branch: 'main', commit: c })
    const reasons = [
      judge({ ref: 'refs/tags/v1' }),
      judge({ after: none }),
      judge({ ref: 'refs/heads/next' }),
      judge({ after: a }),
      judge({}, { branch: null, current: a }),
      judge({ ref: 'main' }),
      judge({ after: '-x' }),
      judge({ ref: 'refs/notes/x' }),
    ].map((verdict) => (verdict.act === 'ignore' ? verdict.reason : 'deployed'))
    assert.ok(!reasons.includes('deployed'), reasons.join('\n'))
    assert.equal(new Set(reasons.slice(0, 5)).size, 5)
  }
  assert.match(JSON.stringify(judgePush({ forge: 'github', event: 'ping' }, null, at)), /ping/)
  assert.equal(
    judgePush({ forge: 'gitlab', event: 'Issue Hook' }, pushOf({ forge: 'gitlab', event: 'Issue Hook' }, gitlab), at)
      .act,
    'ignore',
  )
  for (const payload of [null, 'text', 7, [], {}, { ref: 'refs/heads/main' }, { ref: {}, after: b }])
    assert.equal(pushOf({ forge: 'github', event: 'push' }, payload), null)
})

test('the way back leads to what was there before, past what failed', () => {
  const deploy = (
    id: string,
    state: string,
    from: string | null,
    commit: string | null,
    trigger = 'push',
  ): PastDeploy => ({
    id,
    state,
    from,
    commit,
    trigger,
  })
  const first = deploy('1', 'succeeded', a, b)
  const failed = deploy('2', 'failed', b, 'd'.repeat(40))
  const second = deploy('3', 'succeeded', b, c)
  assert.equal(commitBefore([second, failed, first], c), b)
  assert.equal(commitBefore([first], b), a)
  const back = deploy('4', 'succeeded', c, b, 'rollback')
  assert.equal(commitBefore([back, second, failed, first], b), a)
  assert.equal(commitBefore([], a), null)
  assert.equal(commitBefore([second, first], 'e'.repeat(40)), c)
})

test('a commit at the remote is tried once, also after a way back', () => {
  const tried = { id: '1', state: 'failed', from: a, commit: b, trigger: 'watch' }
  const back = { id: '2', state: 'succeeded', from: b, commit: a, trigger: 'rollback' }
  assert.equal(isNewAtRemote([], b, a), true)
  assert.equal(isNewAtRemote([], a, a), false)
  assert.equal(isNewAtRemote([], null, a), false)
  assert.equal(isNewAtRemote([back, tried], b, a), false)
  assert.equal(isNewAtRemote([back, tried], c, a), true)
  assert.deepEqual([watchMs('5m'), watchMs('2h')], [300_000, 7_200_000])
})

test('a project is well when what is to run runs', () => {
  const one = (change: Partial<Observed>): Observed => ({
    ref: { project: 'prj_1', workload: 'node' },
    state: 'running',
    fingerprint: '',
    since: '',
    pid: 1,
    ports: [],
    lastExit: null,
    health: 'healthy',
    reason: null,
    ...change,
  })
  const ended = (code: number) => one({ state: 'exited', lastExit: { code, signal: null, at: '' } })
  assert.equal(notWell([one({}), one({ health: 'none' }), one({ state: 'stopped' }), ended(0)]), null)
  assert.match(notWell([one({}), ended(7)])!, /exit code 7/)
  assert.match(notWell([one({ health: 'unhealthy', reason: 'It answers 500.' })])!, /answers 500/)
  assert.match(notWell([one({ health: 'starting' })])!, /starting/)
  assert.match(notWell([one({ state: 'waiting', reason: 'app.js is missing.' })])!, /missing/)
  assert.equal(hasFallenOver([one({}), one({ health: 'unhealthy' }), one({ state: 'stopped' }), ended(0)]), false)
  assert.equal(hasFallenOver([one({}), ended(7)]), true)
})

test('each forge is told where it wants to be, and a token goes to no other server', () => {
  const told = { commit: b, state: 'failure', text: 'x'.repeat(300), url: 'https://quay.example.com' } as const
  const to = (forge: Parameters<typeof statusRequest>[0], url: string) => statusRequest(forge, url, 'T', told)
  assert.equal(
    to('github', 'https://github.com/ada/shop.git')?.url,
    `https://api.github.com/repos/ada/shop/statuses/${b}`,
  )
  assert.equal(
    to('github', 'https://git.example.com/ada/shop')?.url,
    `https://git.example.com/api/v3/repos/ada/shop/statuses/${b}`,
  )
  const gitlabRequest = to('gitlab', 'https://gitlab.com/group/sub/shop.git')!
  assert.equal(gitlabRequest.url, `https://gitlab.com/api/v4/projects/group%2Fsub%2Fshop/statuses/${b}`)
  assert.equal(JSON.parse(gitlabRequest.body).state, 'failed')
  const giteaRequest = to('gitea', 'http://forge.lan:3000/git/ada/shop.git')!
  assert.equal(giteaRequest.url, `http://forge.lan:3000/git/api/v1/repos/ada/shop/statuses/${b}`)
  assert.equal(giteaRequest.headers.authorization, 'token T')
  assert.ok(JSON.parse(giteaRequest.body).description.length <= 140)
  for (const url of [
    'ssh://git@github.com/ada/shop.git',
    'https://github.com/shop',
    'https://github.com/a%2f/b',
    'nothing',
  ])
    for (const forge of ['github', 'gitlab', 'gitea'] as const) assert.equal(to(forge, url), null, url)
})
