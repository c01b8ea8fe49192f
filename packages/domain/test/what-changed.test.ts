import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Container, fingerprintOf, type Workload } from '@stackquay/engine-api'
import { whatChanged } from '../src/what-changed.ts'

const base: Omit<Workload, 'fingerprint'> = {
  ref: { project: 'prj_1', workload: 'web' },
  title: 'Web',
  run: { kind: 'process', argv: ['/bin/serve'], cwd: '/srv' },
  env: { A: '1', B: '2', KEY: [{ secret: 'sec_1', version: 1 }] },
  data: [],
  ports: [{ name: 'http', port: 1, hostPort: 1, bind: '127.0.0.1' }],
  setup: [],
  requires: [],
  health: { kind: 'none' },
  restart: { kind: 'always' },
  stop: { signal: 'SIGTERM', deadlineSeconds: 10 },
  dependsOn: [],
}
const before: Workload = { ...base, fingerprint: fingerprintOf(base) }

function workload(over: Partial<Workload>): Workload {
  const changed = { ...base, ...over }
  return { ...changed, fingerprint: fingerprintOf(changed) }
}
const reasons = (over: Partial<Workload>) => whatChanged(before, workload(over))

test('what is the same has no reason', () => {
  assert.deepEqual(reasons({}), [])
  assert.deepEqual(reasons({ env: { KEY: [{ secret: 'sec_1', version: 1 }], B: '2', A: '1' } }), [])
})

test('variables are named, never their values: a new one, a changed one, a removed one, a new text of a secret', () => {
  assert.deepEqual(reasons({ env: { ...base.env, NEW: 'hush' } }), ['the variable NEW changed'])
  assert.deepEqual(reasons({ env: { ...base.env, A: 'hush' } }), ['the variable A changed'])
  assert.deepEqual(reasons({ env: { A: '1', B: '2' } }), ['the variable KEY changed'])
  assert.deepEqual(reasons({ env: { ...base.env, KEY: [{ secret: 'sec_1', version: 2 }] } }), [
    'the variable KEY changed',
  ])
})

test('of many variables three are named and the rest counted', () => {
  assert.deepEqual(reasons({ env: {} }), ['the variables A, B, KEY changed'])
  assert.deepEqual(reasons({ env: { ...base.env, A: 'x', B: 'x', C: 'x', D: 'x', E: 'x' } }), [
    'the variables A, B, C and 2 more changed',
  ])
})

test('each part of a workload has its own reason, and several are all told', () => {
  const job = {
    name: 'install',
    title: 'Install',
    argv: ['/bin/i'],
    cwd: '/srv',
    env: {},
    timeoutSeconds: 1,
    inputs: [],
  }
  const parts: readonly (readonly [Partial<Workload>, string])[] = [
    [{ run: { kind: 'process', argv: ['/bin/serve', '-v'], cwd: '/srv' } }, 'its command changed'],
    [{ ports: [{ name: 'http', port: 1, hostPort: 1, bind: '0.0.0.0' }] }, 'its ports changed'],
    [{ setup: [job] as unknown as Workload['setup'] }, 'what is done before its start changed'],
    [{ health: { kind: 'tcp', port: 'http', timeoutSeconds: 1 } }, 'its health check changed'],
    [{ data: [{ name: 'web' }] }, 'its settings changed'],
    [{ stop: { signal: 'SIGINT', deadlineSeconds: 10 } }, 'its settings changed'],
    [{ restart: { kind: 'never' } }, 'its settings changed'],
  ]
  for (const [over, reason] of parts) assert.deepEqual(reasons(over), [reason])
  const all = Object.assign({}, ...parts.map(([over]) => over), { env: {} }) as Partial<Workload>
  assert.deepEqual(reasons(all), ['the variables A, B, KEY changed', ...new Set(parts.map(([, reason]) => reason))])
})

test('whatever changes the fingerprint has a reason', () => {
  const changes: readonly Partial<Workload>[] = [
    { env: { ...base.env, A: '9' } },
    { run: { ...base.run, cwd: '/elsewhere' } },
    { ports: [] },
    { health: { kind: 'tcp', port: 'http', timeoutSeconds: 1 } },
    { data: [{ name: 'web' }] },
    { restart: { kind: 'never' } },
    { stop: { signal: 'SIGINT', deadlineSeconds: 1 } },
  ]
  for (const over of changes) {
    assert.notEqual(workload(over).fingerprint, before.fingerprint, JSON.stringify(over))
    assert.notEqual(reasons(over).length, 0, JSON.stringify(over))
  }
})

test('what it waits for and what it is called are no reasons, and change no fingerprint', () => {
  for (const over of [{ dependsOn: ['db'] }, { title: 'Other' }]) {
    assert.equal(workload(over).fingerprint, before.fingerprint)
    assert.deepEqual(reasons(over), [])
  }
})

test('an image, limits and the rest of a container have words of their own, and its jobs do not tell them again', () => {
  const container: Container = {
    image: 'node:26',
    build: null,
    user: '1000:1000',
    network: 'prj_1',
    folders: [],
    data: {},
    limits: { cpus: null, memoryBytes: null, pids: null },
  }
  const job = {
    name: 'install',
    title: 'Install',
    argv: ['/bin/i'],
    cwd: '/srv',
    env: {},
    timeoutSeconds: 1,
    inputs: [],
  }
  const inside = (change: Partial<Container>) => {
    const changed = { ...container, ...change }
    const setup = [{ ...job, container: changed }] as unknown as Workload['setup']
    return workload({ run: { ...base.run, container: changed }, setup })
  }
  const told = (change: Partial<Container>) => whatChanged(inside({}), inside(change))
  assert.deepEqual(told({}), [])
  assert.deepEqual(told({ image: 'node:28' }), ['its image changed'])
  assert.deepEqual(told({ limits: { cpus: 1, memoryBytes: null, pids: null } }), ['its limits changed'])
  assert.deepEqual(told({ folders: [{ path: '/srv', readOnly: true }] }), ['what it runs in changed'])
})

test('limits of a program of this machine have a reason of their own, and its jobs add none', () => {
  const limits = { cpus: 0.5, memoryBytes: null, pids: null }
  const job = {
    name: 'install',
    title: 'Install',
    argv: ['/bin/i'] as const,
    cwd: '/srv',
    env: {},
    timeoutSeconds: 1,
    inputs: [],
  }
  const plain = workload({ setup: [{ ...job, argv: ['/bin/i'] }] })
  const held = workload({ run: { ...base.run, limits }, setup: [{ ...job, argv: ['/bin/i'], limits }] })
  assert.deepEqual(whatChanged(plain, held), ['its limits changed'])
  assert.deepEqual(whatChanged(held, plain), ['its limits changed'])
})
