import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GitState } from '@stackquay/contract'
import { stq } from './run-stq.ts'
import { emptyPlan, operation, standIn, step } from './stand-in.ts'

const path = '/projects/shop/git'
const state: GitState = {
  repository: true,
  reason: null,
  url: 'https://git.example.com/shop.git',
  origin: null,
  branch: 'main',
  commit: 'a'.repeat(40),
  upstream: 'origin/main',
  ahead: 1,
  behind: 2,
  doing: null,
  changed: [{ path: 'evil\u001b[2J.js', from: null, staged: null, unstaged: 'modified', conflict: false }],
  changedTotal: 1,
  stashed: 0,
  submodules: [],
  lfsFiles: 3,
  shallow: false,
  credentials: null,
  deployKey: null,
  hostKeys: [],
}
const ended = operation({
  state: 'succeeded',
  steps: [{ ...step('git', 'succeeded'), output: ['Commit aaaaaaaaaa of 1 files.'] }],
  finishedAt: '2026-01-01T00:00:04Z',
})

test('against a stand-in: the status says how far it is from the remote, and no name controls the terminal', async () => {
  await using service = await standIn({ [`GET ${path}`]: () => state })
  const { code, stdout, stderr } = await stq(['git', 'status', 'shop'], { url: service.url })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^main at aaaaaaaaaa, 1 ahead and 2 behind of origin\/main\n/)
  assert.match(stdout, /3 files of Git LFS/)
  assert.match(stdout, / {2}modified evil\.js/)
})

test('against a stand-in: acts are sent as they were said, and their last word is shown', async () => {
  const sent: [string, unknown][] = []
  const take = (act: string) => ({
    [`POST ${path}/${act}`]: ({ body, query }: { body: unknown; query: URLSearchParams }) => {
      if (query.has('dryRun')) return { plan: emptyPlan }
      sent.push([act, body])
      return operation()
    },
  })
  await using service = await standIn({
    ...Object.assign({}, ...['fetch', 'pull', 'checkout', 'commit', 'push', 'discard'].map(take)),
    'GET /operations/op_1': () => ended,
  } as never)
  const say = async (...words: string[]) => {
    const { code, stderr } = await stq(['git', ...words], { url: service.url })
    assert.equal(code, 0, stderr)
    return stderr
  }
  assert.match(await say('commit', 'shop', '-m', 'One', 'app.js', '--author', 'Ada L <ada@example.com>'), /of 1 files/)
  await say('pull', 'shop', '--merge')
  const plan = await stq(['git', 'pull', 'shop', '--dry-run'], { url: service.url })
  assert.match(plan.stdout, /Nothing to do/, plan.stderr)
  await say('checkout', 'shop', 'topic', '--create')
  await say('push', 'shop', '--force')
  await say('discard', 'shop', 'a b', '--yes')
  await say('fetch', 'shop')
  assert.deepEqual(
    sent.map(([act, body]) => [act, typeof body === 'string' && body !== '' ? JSON.parse(body) : body]).slice(0, 5),
    [
      ['commit', { message: 'One', paths: ['app.js'], author: { name: 'Ada L', email: 'ada@example.com' } }],
      ['pull', { manner: 'merge' }],
      ['checkout', { branch: 'topic', create: true }],
      ['push', { force: true }],
      ['discard', { paths: ['a b'] }],
    ],
  )
  for (const words of [
    ['pull', 'shop', '--merge', '--reset'],
    ['commit', 'shop'],
    ['discard', 'shop', 'a'],
    ['log', 'shop', '--limit', '0'],
  ])
    assert.notEqual((await stq(['git', ...words], { url: service.url })).code, 0, words.join(' '))
  assert.equal(sent.length, 6)
})

test('against a stand-in: a key is made once, and a token is never an argument', async () => {
  let made = 0
  const key = { publicKey: 'ssh-ed25519 AAAA stackquay-shop', fingerprint: 'SHA256:x' }
  const put: unknown[] = []
  await using service = await standIn({
    [`GET ${path}`]: () => ({ ...state, deployKey: made > 0 ? key : null }),
    [`POST ${path}/deploy-key`]: () => {
      made += 1
      return key
    },
    [`PUT ${path}`]: ({ body }) => {
      put.push(typeof body === 'string' ? JSON.parse(body) : body)
      return { ...state, credentials: { username: 'git', hasToken: true } }
    },
  })
  for (let count = 0; count < 2; count += 1) {
    const { stdout, stderr } = await stq(['git', 'key', 'shop'], { url: service.url })
    assert.equal(stdout, `${key.publicKey}\n`, stderr)
  }
  assert.equal(made, 1)
  const words = ['git', 'remote', 'shop', 'https://git.example.com/shop.git', '--token-stdin']
  const { code, stderr } = await stq(words, { url: service.url, input: 'of-the-forge\n' })
  assert.equal(code, 0, stderr)
  assert.deepEqual(put, [{ url: 'https://git.example.com/shop.git', token: 'of-the-forge' }])
  assert.notEqual((await stq([...words.slice(0, -1), '--token'], { url: service.url })).code, 0)
})

test('against a stand-in: a deploy shows its release, and a way back says what is not as then', async () => {
  const release = {
    generation: 3,
    installedFrom: { 'evil\u001b[2J.lock': 'sha256:1' },
    images: { web: 'sha256:2' },
    runtimes: {},
  }
  const deploy = { id: 'dpl_1', commit: 'a'.repeat(40), state: 'succeeded', rolledBack: false, reason: null, release }
  const asked: unknown[] = []
  await using service = await standIn({
    [`GET ${path}/deploys`]: ({ query }) =>
      query.get('cursor') === null
        ? { items: [{ ...deploy, id: 'dpl_2', release: null }], nextCursor: 'dpl_2' }
        : { items: [deploy], nextCursor: null },
    [`POST ${path}/rollback`]: ({ body, query }) => {
      asked.push(body)
      return query.has('dryRun') ? { plan: { ...emptyPlan, warnings: ['Not as then: web runs from another.'] } } : ended
    },
    'GET /operations/op_1': () => ({
      ...ended,
      steps: [{ ...step('well', 'succeeded'), output: ['Not as then: web runs from another.', 'It is well.'] }],
    }),
  })
  const shown = await stq(['git', 'deploys', 'shop', '--show', 'dpl_1'], { url: service.url })
  assert.match(shown.stdout, /^generation +3\nweb +sha256:2\nevil\.lock +sha256:1$/m, shown.stderr)
  const older = await stq(['git', 'deploys', 'shop', '--show', 'dpl_2'], { url: service.url })
  assert.match(older.stdout, /It was not written down what it ran with\./)
  const none = await stq(['git', 'deploys', 'shop', '--show', 'dpl_3'], { url: service.url })
  assert.equal(none.code, 4, none.stderr)
  const plan = await stq(['rollback', 'shop', '--to', 'dpl_1', '--dry-run'], { url: service.url })
  assert.match(plan.stdout, /Not as then: web runs from another\./, plan.stderr)
  const back = await stq(['rollback', 'shop', '--to', 'dpl_1'], { url: service.url })
  assert.match(back.stderr, /It is well\.\n.*Not as then: web runs from another\./)
  assert.deepEqual(asked, [{ deploy: 'dpl_1' }, { deploy: 'dpl_1' }])
})
