import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Release } from '@stackquay/contract'
import type { Job, Observed, Workload } from '@stackquay/engine-api'
import { installInputs, releaseDifferences, releaseOf, releaseOfCommit } from '../src/index.ts'

const workload = (name: string, inputs: readonly string[] = []) =>
  ({
    ref: { project: 'prj_1', workload: name },
    setup: [{ name: 'install', inputs } as unknown as Job],
  }) as unknown as Workload
const seen = (name: string, state: Observed['state'] = 'running', id?: string) =>
  ({
    ref: { project: 'prj_1', workload: name },
    state,
    ...(id === undefined ? {} : { image: { reference: 'web:1', id } }),
  }) as unknown as Observed

const shop = {
  workloads: [
    workload('web', ['/p/shop/web/package.json', '/p/shop/web/package-lock.json', '/p/shop-other/lock']),
    workload('queue', ['/p/shop/web/package.json']),
    workload('idle', ['/p/shop/idle/lock']),
    workload('main', ['/p/shop/init.sql']),
  ],
  kinds: { web: 'runtime', queue: 'worker', idle: 'worker', main: 'database' } as const,
  versions: { node: '26.10.0' },
}

test('what was installed is told of the programs that run, by files of the source alone, each once', () => {
  const observed = [seen('web'), seen('queue'), seen('idle', 'stopped'), seen('main')]
  assert.deepEqual(installInputs('/p/shop', shop, observed), ['web/package-lock.json', 'web/package.json'])
  assert.deepEqual(installInputs('/p/shop', shop, [seen('main')]), [])
})

test('a release has the builds of what runs, of databases too, and versions only where a program runs', () => {
  const own = { generation: 3, installedFrom: { lock: 'sha256:a' } }
  const observed = [
    seen('web', 'running', 'sha256:w'),
    seen('main', 'running', 'sha256:m'),
    seen('queue', 'exited', 'x'),
  ]
  assert.deepEqual(releaseOf(own, shop, observed), {
    ...own,
    images: { web: 'sha256:w', main: 'sha256:m' },
    runtimes: { node: '26.10.0' },
  })
  assert.deepEqual(releaseOf(own, shop, [seen('main')]), { ...own, images: {}, runtimes: {} })
})

const then: Release = {
  generation: 3,
  installedFrom: { 'package.json': 'sha256:1', 'package-lock.json': 'sha256:2', gone: 'sha256:3' },
  images: { web: `sha256:${'a'.repeat(64)}`, main: 'sha256:m', old: 'sha256:o' },
  runtimes: { node: '24.1.0', python: '3.13.2' },
}

test('of two releases that are the same nothing is told', () => {
  assert.deepEqual(releaseDifferences(then, structuredClone(then)), [])
})

test('all that is not as it was is told, a sentence each', () => {
  const now: Release = {
    generation: 5,
    installedFrom: { 'package.json': 'sha256:1', 'package-lock.json': 'sha256:9', constructor: 'sha256:4' },
    images: { web: `sha256:${'b'.repeat(64)}`, main: 'sha256:m', added: 'sha256:n' },
    runtimes: { node: '24.2.0', python: '3.13.2' },
  }
  assert.deepEqual(releaseDifferences(then, now), [
    'The specification is of generation 5, not 3.',
    'web runs from the build bbbbbbbbbbbb, not aaaaaaaaaaaa.',
    'node is 24.2.0, not 24.1.0.',
    'constructor was not there.',
    'gone is not there any more.',
    'package-lock.json has another content.',
  ])
})

test('a commit was well with what the newest deploy says that succeeded with it and knows', () => {
  const deploy = (id: string, state: string, commit: string, release: Release | null) =>
    ({ id, trigger: 'push', state, from: null, commit, release }) as const
  const deploys = [
    deploy('5', 'failed', 'a', then),
    deploy('4', 'succeeded', 'b', then),
    deploy('3', 'succeeded', 'a', null),
    deploy('2', 'succeeded', 'a', then),
    deploy('1', 'succeeded', 'a', then),
  ]
  assert.equal(releaseOfCommit(deploys, 'a')?.id, '2')
  assert.equal(releaseOfCommit(deploys, 'c'), null)
})
