import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Observed } from '@stackquay/engine-api'
import { projectStatus, type StatusFacts, type Supervision } from '../src/project-status.ts'

const since = '2026-01-01T00:00:00.000Z'

function seen(workload: string, more: Partial<Observed> = {}): Observed {
  const state = more.state ?? 'running'
  return {
    ref: { project: 'prj_1', workload },
    state,
    fingerprint: 'f',
    since,
    pid: state === 'running' ? 7 : null,
    ports: [],
    lastExit: null,
    health: state === 'running' ? 'healthy' : 'none',
    reason: null,
    ...more,
  }
}

const supervised = (more: Partial<Supervision> = {}): Supervision => ({
  restarts: 1,
  nextRestartAt: null,
  gaveUp: false,
  reason: 'It ended with exit code 1.',
  logTail: ['last words'],
  ...more,
})
const soon = supervised({ nextRestartAt: since })
const over = supervised({ gaveUp: true })

const blocker = { code: 'unavailable_here', detail: 'Node.js 26 is gone.', hint: 'Install it.' }

function status(more: Partial<StatusFacts> = {}) {
  return projectStatus({
    phase: 'ready',
    desired: 'running',
    operation: null,
    wanted: ['db', 'web'].map((workload) => ({
      ref: { project: 'prj_1', workload },
      title: workload.toUpperCase(),
      ports: [{ name: 'http', port: 3000, hostPort: 20_000, bind: '127.0.0.1' }],
    })),
    kinds: { db: 'database', web: 'runtime' },
    observed: [seen('db'), seen('web')],
    supervision: {},
    blockers: [],
    since,
    ...more,
  })
}

const down = { observed: [] }
const table: readonly [title: string, facts: Partial<StatusFacts>, state: string, workloads: string][] = [
  ['everything runs', {}, 'running', 'running running'],
  ['everything is stopped', { desired: 'stopped', ...down }, 'stopped', 'stopped stopped'],
  ['its engine does not answer', { unknown: 'Docker does not answer.' }, 'unknown', 'unknown unknown'],
  [
    'it was stopped and its engine does not answer',
    { desired: 'stopped', ...down, unknown: 'Docker does not answer.' },
    'unknown',
    'unknown unknown',
  ],
  ['it is being made', { phase: 'creating', ...down }, 'creating', 'stopped stopped'],
  ['it is being deleted', { phase: 'deleting', desired: 'stopped' }, 'deleting', 'running running'],
  ['a deletion holds it', { operation: { kind: 'delete' } }, 'deleting', 'stopping stopping'],
  ['a stop is on its way', { desired: 'stopped', operation: { kind: 'stop' } }, 'stopping', 'stopping stopping'],
  [
    'it should be stopped and is being changed',
    { desired: 'stopped', operation: { kind: 'update' } },
    'stopping',
    'running running',
  ],
  ['it should be stopped and runs on', { desired: 'stopped' }, 'degraded', 'running running'],
  ['a start is on its way', { operation: { kind: 'start' }, ...down }, 'starting', 'stopped stopped'],
  [
    'a start has brought up a part',
    { operation: { kind: 'start' }, observed: [seen('db')] },
    'starting',
    'running stopped',
  ],
  ['a restart is on its way', { operation: { kind: 'restart' } }, 'starting', 'running running'],
  ['a change touches nothing that runs', { operation: { kind: 'update' } }, 'running', 'running running'],
  ['a change starts all there is', { operation: { kind: 'update' }, ...down }, 'starting', 'stopped stopped'],
  ['a change adds one', { operation: { kind: 'update' }, observed: [seen('web')] }, 'starting', 'stopped running'],
  [
    'a crash comes while a change goes on',
    {
      operation: { kind: 'update' },
      observed: [seen('db', { state: 'exited' }), seen('web')],
      supervision: { db: over },
    },
    'degraded',
    'crashed running',
  ],
  [
    'one is not healthy yet',
    { observed: [seen('db'), seen('web', { health: 'starting' })] },
    'starting',
    'running starting',
  ],
  [
    'one runs and does not answer',
    { observed: [seen('db'), seen('web', { health: 'unhealthy', reason: 'It answers 500.' })] },
    'degraded',
    'running unhealthy',
  ],
  [
    'one never became ready',
    { observed: [seen('db'), seen('web', { health: 'starting' })], supervision: { web: over } },
    'degraded',
    'running unhealthy',
  ],
  [
    'one waits for a file',
    { observed: [seen('db'), seen('web', { state: 'waiting', reason: 'package.json is missing.' })] },
    'degraded',
    'running waiting',
  ],
  [
    'one is started again soon',
    { observed: [seen('db'), seen('web', { state: 'exited' })], supervision: { web: soon } },
    'degraded',
    'running backing-off',
  ],
  [
    'one starts while another backs off',
    {
      observed: [seen('db', { state: 'exited' }), seen('web', { health: 'starting' })],
      supervision: { db: soon },
    },
    'degraded',
    'backing-off starting',
  ],
  [
    'one is being started by itself, and was seen as stopped before',
    {
      observed: [seen('db', { state: 'stopped' }), seen('web', { state: 'stopped' })],
      supervision: { web: supervised({ starting: true }) },
    },
    'starting',
    'stopped starting',
  ],
  [
    'one ended while it was being started by itself',
    { observed: [seen('db'), seen('web', { state: 'exited' })], supervision: { web: supervised({ starting: true }) } },
    'degraded',
    'running backing-off',
  ],
  [
    'one would be started by itself, but it should be stopped',
    { desired: 'stopped', ...down, supervision: { web: supervised({ starting: true }) } },
    'stopped',
    'stopped stopped',
  ],
  [
    'the only runtime was given up',
    { observed: [seen('db'), seen('web', { state: 'exited' })], supervision: { web: over } },
    'failed',
    'running crashed',
  ],
  [
    'the database was given up and the runtime runs',
    { observed: [seen('db', { state: 'exited' }), seen('web')], supervision: { db: over } },
    'degraded',
    'crashed running',
  ],
  [
    'it has just ended and nobody has decided yet',
    { observed: [seen('db'), seen('web', { state: 'exited' })] },
    'degraded',
    'running backing-off',
  ],
  [
    'it ended and that is fine: nothing is wanted',
    { desired: 'stopped', observed: [seen('db', { state: 'exited' }), seen('web', { state: 'stopped' })] },
    'stopped',
    'stopped stopped',
  ],
  ['nothing of it runs and nobody is at it', down, 'failed', 'stopped stopped'],
  ['it runs and something stands in the way', { blockers: [blocker] }, 'degraded', 'running running'],
  ['nothing can be run', { wanted: [], blockers: [blocker], ...down }, 'failed', ''],
  ['there is nothing to run', { wanted: [], ...down }, 'stopped', ''],
]

for (const [title, facts, state, workloads] of table) {
  test(`${title}: ${state}`, () => {
    const now = status(facts)
    assert.equal(now.state, state)
    assert.equal(now.workloads.map((workload) => workload.state).join(' '), workloads)
  })
}

test('the health of a project is the worst of its workloads', () => {
  const health = (...all: Observed['health'][]) =>
    status({ observed: all.map((one, index) => seen(['db', 'web'][index]!, { health: one })) }).health
  assert.equal(health('healthy', 'unhealthy'), 'unhealthy')
  assert.equal(health('healthy', 'starting'), 'starting')
  assert.equal(health('unhealthy', 'starting'), 'unhealthy')
  assert.equal(health('none', 'healthy'), 'healthy')
  assert.equal(health('none', 'none'), 'none')
})

test('what ended is not healthy, whatever its last check said', () => {
  assert.equal(status({ observed: [seen('db', { state: 'stopped', health: 'healthy' })] }).workloads[0]?.health, 'none')
})

test('a workload shows restarts, the next start, its last exit, its reason and its last lines while it is down', () => {
  const lastExit = { code: 1, signal: null, at: since }
  const [, web] = status({
    observed: [seen('web', { state: 'exited', lastExit })],
    supervision: { web: soon },
  }).workloads
  assert.deepEqual(web, {
    name: 'web',
    title: 'WEB',
    kind: 'runtime',
    state: 'backing-off',
    since,
    health: 'none',
    pid: null,
    ports: [{ name: 'http', port: 3000, hostPort: 20_000 }],
    restarts: 1,
    nextRestartAt: since,
    lastExit,
    reason: 'It ended with exit code 1.',
    logTail: ['last words'],
  })
})

test('once it runs again the old reason and the old lines are gone, the number of restarts stays', () => {
  const [, web] = status({ supervision: { web: supervised() } }).workloads
  assert.deepEqual([web?.state, web?.reason, web?.logTail, web?.restarts], ['running', null, [], 1])
})

test('warnings say what is wrong and what to do, for the project and for each workload', () => {
  const codes = (facts: Partial<StatusFacts>) => status(facts).warnings.map(({ code }) => code)
  assert.deepEqual(codes({}), [])
  const web = (more: Partial<Observed>) => ({ observed: [seen('db'), seen('web', more)] })
  assert.deepEqual(codes({ blockers: [blocker] }), ['unavailable_here'])
  assert.deepEqual(codes(web({ state: 'waiting' })), ['waiting'])
  assert.deepEqual(codes(web({ health: 'unhealthy' })), ['unhealthy'])
  assert.deepEqual(codes({ ...web({ state: 'exited' }), supervision: { web: soon } }), ['backing_off'])
  assert.deepEqual(codes({ ...web({ state: 'exited' }), supervision: { web: over } }), ['crashed'])
  for (const warning of status({ ...web({ state: 'exited' }), supervision: { web: over } }).warnings) {
    assert.match(warning.detail, /^WEB does not stay up\. It ended with exit code 1\.$/)
    assert.match(warning.hint, /start the project/)
  }
})

test('while the engine does not answer the warning says so, and nothing is claimed of workloads', () => {
  const { warnings, health, workloads } = status({ unknown: 'Docker does not answer.', observed: [] })
  assert.deepEqual(
    warnings.map(({ code, detail }) => [code, detail]),
    [['engine_unavailable', 'Docker does not answer.']],
  )
  assert.equal(health, 'none')
  assert.ok(workloads.every(({ reason }) => reason === null))
})

test('what limits did to a program that goes on is a warning with the limit', () => {
  const run = {
    kind: 'process',
    argv: ['/bin/php'],
    cwd: '/srv',
    limits: { cpus: null, memoryBytes: 256 * 1024 * 1024, pids: 60 },
  } as const
  const wanted = [{ ref: { project: 'prj_1', workload: 'web' }, title: 'WEB', ports: [], run }]
  const warned = (limited: Observed['limited'], more: Partial<Observed> = {}) =>
    status({ wanted, observed: [seen('web', { ...(limited === undefined ? {} : { limited }), ...more })] }).warnings
  assert.deepEqual(warned(undefined), [])
  assert.deepEqual(
    warned({ outOfMemory: 3, processes: true }).map(({ code, detail }) => [code, detail]),
    [
      ['out_of_memory', 'WEB runs, but memory ran out. 3 processes of it were ended at its limit of 256 MiB.'],
      ['too_many_processes', 'WEB runs, but wanted more processes than it may have: its limit is 60.'],
    ],
  )
  assert.match(warned({ outOfMemory: 1, processes: false })[0]?.detail ?? '', /One process of it was ended at/)
})
