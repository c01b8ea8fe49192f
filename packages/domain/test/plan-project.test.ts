import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fingerprintOf, type Observed, type Workload } from '@stackquay/engine-api'
import { type PlanRequest, planProject } from '../src/plan-project.ts'

function workload(name: string, dependsOn: readonly string[] = [], form = 'first'): Workload {
  const rest = {
    ref: { project: 'prj_1', workload: name },
    title: name.toUpperCase(),
    run: { kind: 'process', argv: ['/bin/serve', form], cwd: '/srv' },
    env: {},
    data: [],
    ports: [],
    setup: [],
    requires: [],
    health: { kind: 'none' },
    restart: { kind: 'always' },
    stop: { signal: 'SIGINT', deadlineSeconds: 30 },
    dependsOn,
  } as const
  return { ...rest, fingerprint: fingerprintOf(rest) }
}

function seen(one: Workload, state: Observed['state'] = 'running'): Observed {
  return {
    ref: one.ref,
    state,
    fingerprint: one.fingerprint,
    since: '2026-01-01T00:00:00.000Z',
    pid: state === 'running' ? 7 : null,
    ports: [],
    lastExit: null,
    health: 'none',
    reason: null,
  }
}

const db = workload('db')
const cache = workload('cache')
const web = workload('web', ['db', 'cache'])
const dev = workload('dev', ['db', 'web'])
const all = [dev, web, db, cache]

function plan(request: Partial<PlanRequest>): { changes: readonly string[]; summary: object } {
  const { changes, summary } = planProject({ wanted: all, observed: [], goal: 'running', ...request })
  return {
    changes: changes.map((change) => {
      const ref =
        change.type === 'start' || change.type === 'replace' ? change.workload.ref : 'ref' in change && change.ref
      return `${change.type} ${ref ? ref.workload : ''}`
    }),
    summary,
  }
}

test('from nothing everything is started, dependencies first', () => {
  assert.deepEqual(plan({}), {
    changes: ['start db', 'start cache', 'start web', 'start dev'],
    summary: { starts: ['db', 'cache', 'web', 'dev'], restarts: [], stops: [], keepsRunning: [] },
  })
})

test('when everything runs in the wanted form nothing is done', () => {
  assert.deepEqual(plan({ observed: all.map((one) => seen(one)) }), {
    changes: [],
    summary: { starts: [], restarts: [], stops: [], keepsRunning: ['db', 'cache', 'web', 'dev'] },
  })
})

test('only what differs is touched: ended ones start, changed ones are replaced, the rest goes on', () => {
  const observed = [seen(db), seen(cache, 'exited'), seen(workload('web', ['db'], 'older')), seen(dev, 'stopped')]
  assert.deepEqual(plan({ observed }), {
    changes: ['start cache', 'replace web', 'start dev'],
    summary: { starts: ['cache', 'dev'], restarts: ['web'], stops: [], keepsRunning: ['db'] },
  })
})

test('a replacement says why', () => {
  const observed = [seen(workload('db', [], 'older'))]
  const reasons = (request: Partial<PlanRequest>) =>
    planProject({ wanted: [db], observed, goal: 'running', ...request }).changes.map((change) =>
      change.type === 'replace' ? change.because : [],
    )
  assert.deepEqual(reasons({}), [['its settings changed']])
  assert.deepEqual(reasons({ restart: true }), [['a restart was asked for']])
})

test('what is not wanted any more is removed before anything else, running or not', () => {
  const observed = [seen(db), seen(workload('gone')), seen(workload('ended'), 'exited')]
  assert.deepEqual(plan({ wanted: [db, cache], observed }), {
    changes: ['remove gone', 'remove ended', 'start cache'],
    summary: { starts: ['cache'], restarts: [], stops: ['gone'], keepsRunning: ['db'] },
  })
  assert.deepEqual(plan({ wanted: [], observed, goal: 'stopped' }).changes, [
    'remove db',
    'remove gone',
    'remove ended',
  ])
})

test('titles are names; what is done with the thing is said by the engine', () => {
  const titles = (request: Partial<PlanRequest>) =>
    planProject({ wanted: [db], observed: [seen(db)], goal: 'stopped', ...request }).changes.map((change) =>
      'title' in change ? change.title : '',
    )
  assert.deepEqual(titles({}), ['DB'])
  assert.deepEqual(titles({ wanted: [] }), ['db'])
})

test('stopping goes from dependants to dependencies and leaves what was stopped alone', () => {
  const observed = [seen(db), seen(cache, 'stopped'), seen(web), seen(dev, 'waiting')]
  assert.deepEqual(plan({ observed, goal: 'stopped' }), {
    changes: ['stop dev', 'stop web', 'stop db'],
    summary: { starts: [], restarts: [], stops: ['dev', 'web', 'db'], keepsRunning: [] },
  })
})

test('one that ended by itself is stopped too, so that it is not taken for a crash any more', () => {
  assert.deepEqual(plan({ wanted: [db], observed: [seen(db, 'exited')], goal: 'stopped' }), {
    changes: ['stop db'],
    summary: { starts: [], restarts: [], stops: [], keepsRunning: [] },
  })
})

test('a workload is stopped as it wants to be stopped', () => {
  const [change] = planProject({ wanted: [db], observed: [seen(db)], goal: 'stopped' }).changes
  assert.deepEqual(change?.type === 'stop' && change.stop, { signal: 'SIGINT', deadlineSeconds: 30 })
})

test('one workload is started with what it depends on and nothing else', () => {
  assert.deepEqual(plan({ only: 'web', observed: [seen(cache), seen(dev)] }), {
    changes: ['start db', 'start web'],
    summary: { starts: ['db', 'web'], restarts: [], stops: [], keepsRunning: ['cache', 'dev'] },
  })
})

test('one workload is stopped alone', () => {
  assert.deepEqual(plan({ only: 'db', goal: 'stopped', observed: all.map((one) => seen(one)) }), {
    changes: ['stop db'],
    summary: { starts: [], restarts: [], stops: ['db'], keepsRunning: ['dev', 'web', 'cache'] },
  })
})

test('work on one workload removes nothing', () => {
  assert.deepEqual(plan({ only: 'db', observed: [seen(workload('gone'))] }).changes, ['start db'])
  assert.deepEqual(plan({ only: 'db', goal: 'stopped', observed: [seen(workload('gone'))] }).changes, [])
})

test('a restart replaces what runs and starts what does not', () => {
  assert.deepEqual(plan({ restart: true, observed: [seen(db), seen(web)] }).changes, [
    'replace db',
    'start cache',
    'replace web',
    'start dev',
  ])
})

test('a restart of one workload leaves its dependencies running', () => {
  assert.deepEqual(plan({ restart: true, only: 'web', observed: all.map((one) => seen(one)) }), {
    changes: ['replace web'],
    summary: { starts: [], restarts: ['web'], stops: [], keepsRunning: ['db', 'cache', 'dev'] },
  })
})

test('with keepChanged an older form runs on, and what is down is started in the new one', () => {
  const observed = [seen(workload('db', [], 'older')), seen(workload('cache', [], 'older'), 'stopped')]
  assert.deepEqual(plan({ wanted: [db, cache], observed, keepChanged: true }), {
    changes: ['start cache'],
    summary: { starts: ['cache'], restarts: [], stops: [], keepsRunning: ['db'] },
  })
})

test('what waits for a file is replaced when it changed and kept when it did not', () => {
  assert.deepEqual(plan({ wanted: [db], observed: [seen(db, 'waiting')] }).changes, [])
  assert.deepEqual(plan({ wanted: [db], observed: [seen(workload('db', [], 'older'), 'waiting')] }).changes, [
    'replace db',
  ])
})

test('carrying out a plan leaves nothing to plan', () => {
  const states: readonly (Observed['state'] | null)[] = [null, 'running', 'waiting', 'exited', 'stopped']
  for (const first of states)
    for (const second of states)
      for (const goal of ['running', 'stopped'] as const) {
        const observed = [
          ...(first === null ? [] : [seen(workload('db', [], 'older'), first)]),
          ...(second === null ? [] : [seen(web, second)]),
          seen(workload('gone')),
        ]
        const after = new Map(observed.map((one) => [one.ref.workload, one]))
        for (const change of planProject({ wanted: all, observed, goal }).changes) {
          if (change.type === 'start' || change.type === 'replace')
            after.set(change.workload.ref.workload, seen(change.workload))
          else if (change.type === 'remove') after.delete(change.ref.workload)
          else if (change.type === 'stop')
            after.set(change.ref.workload, { ...after.get(change.ref.workload)!, state: 'stopped' })
        }
        assert.deepEqual(planProject({ wanted: all, observed: [...after.values()], goal }).changes, [])
      }
})

test('what is removed goes dependants first, each as it wanted to be stopped when it was started', () => {
  const named = (name: string, dependsOn: readonly string[], stop: Workload['stop']) => ({
    ...seen(workload(name)),
    title: `The ${name}`,
    dependsOn,
    stop,
  })
  const slow = { signal: 'SIGINT', deadlineSeconds: 90 } as const
  const usual = { signal: 'SIGTERM', deadlineSeconds: 10 } as const
  const observed = [named('db', [], slow), named('web', ['db', 'cache'], usual), named('cache', [], usual)]
  for (const order of [observed, observed.toReversed()]) {
    const { changes } = planProject({ wanted: [], observed: order, goal: 'running' })
    const removed = changes.flatMap((change) =>
      change.type === 'remove' ? [[change.ref.workload, change.title, change.stop] as const] : [],
    )
    assert.equal(removed.length, 3)
    assert.deepEqual(removed[0], ['web', 'The web', usual])
    assert.deepEqual(
      removed.find(([name]) => name === 'db'),
      ['db', 'The db', slow],
    )
  }
})

test('something that was started by an older service and tells no stop policy gets the usual one', () => {
  const [change] = planProject({ wanted: [], observed: [seen(db)], goal: 'running' }).changes
  assert.deepEqual(change?.type === 'remove' && change.stop, { signal: 'SIGTERM', deadlineSeconds: 10 })
})

test('a replacement says what changed when it is told what was wanted before', () => {
  const env = (value: string): Workload => ({ ...web, env: { GREETING: value }, fingerprint: value })
  const because = (before: readonly Workload[] | undefined) =>
    planProject({
      wanted: [env('new')],
      observed: [seen(env('old'))],
      goal: 'running',
      ...(before === undefined ? {} : { before }),
    }).changes.map((change) => (change.type === 'replace' ? change.because : []))
  assert.deepEqual(because([env('old')]), [['the variable GREETING changed']])
  assert.deepEqual(because([]), [['its settings changed']], 'it was not there before')
  assert.deepEqual(because([env('new')]), [['its settings changed']], 'what runs is older than what was wanted')
  assert.deepEqual(because(undefined), [['its settings changed']])
})

test('what was wanted before decides nothing', () => {
  const observed = [seen(workload('db', [], 'older')), seen(web)]
  const { changes, summary } = planProject({ wanted: all, observed, goal: 'running' })
  for (const before of [[], all, [workload('db', [], 'older')]]) {
    const again = planProject({ wanted: all, observed, goal: 'running', before })
    assert.deepEqual(again.summary, summary)
    assert.deepEqual(
      again.changes.map(({ type }) => type),
      changes.map(({ type }) => type),
    )
  }
})

test('another dependency is no reason to restart what runs', () => {
  const observed = all.map((one) => seen(one))
  const wanted = [dev, workload('web', ['db']), db, cache]
  assert.deepEqual(plan({ wanted, observed }).changes, [])
})

test('a change touches what it is about: what runs besides is left in its form, and what is down stays down', () => {
  const observed = [seen(workload('db', [], 'older')), seen(workload('web', ['db'], 'older')), seen(dev, 'exited')]
  assert.deepEqual(plan({ observed, touches: ['web', 'cache'] }), {
    changes: ['start cache', 'replace web'],
    summary: { starts: ['cache'], restarts: ['web'], stops: [], keepsRunning: ['db'] },
  })
  assert.deepEqual(plan({ observed, touches: [] }).changes, [])
  assert.deepEqual(plan({ wanted: [db], observed, touches: [] }).changes, ['remove web', 'remove dev'])
})

test('what cannot be resolved now is wanted all the same: it is not removed', () => {
  const observed = [seen(db), seen(cache)]
  for (const goal of ['running', 'stopped'] as const) {
    const { changes } = plan({ wanted: [db], observed, goal, unresolved: ['cache'] })
    assert.ok(!changes.includes('remove cache'))
    assert.ok(plan({ wanted: [db], observed, goal }).changes.includes('remove cache'))
  }
})

test('a stop of all reaches what cannot be resolved now too, a stop of one does not', () => {
  const request = { wanted: [db], observed: [seen(db), seen(cache), seen(dev, 'exited')], goal: 'stopped' } as const
  const unresolved = ['cache', 'dev']
  assert.deepEqual(plan({ ...request, unresolved }), {
    changes: ['stop db', 'stop cache'],
    summary: { starts: [], restarts: [], stops: ['db', 'cache'], keepsRunning: [] },
  })
  assert.deepEqual(plan({ ...request, unresolved, only: 'db' }).changes, ['stop db'])
  assert.deepEqual(plan({ ...request, unresolved, goal: 'running' }).changes, [])
})

test('newer images are taken by what is started or replaced, and by nothing else', () => {
  const newer = (request: Partial<PlanRequest>) =>
    planProject({ wanted: all, observed: [], goal: 'running', newerImages: true, ...request }).changes.flatMap(
      (change) =>
        (change.type === 'start' || change.type === 'replace') && change.newerImage === true
          ? [`${change.type} ${change.workload.ref.workload}`]
          : [],
    )
  assert.deepEqual(newer({ wanted: [db, cache] }), ['start db', 'start cache'])
  assert.deepEqual(newer({ observed: [seen(db), seen(cache)] }), ['start web', 'start dev'])
  assert.deepEqual(newer({ wanted: [db], observed: [seen(db)], restart: true }), ['replace db'])
  // What it needs and was not named is started with the build that it has.
  assert.deepEqual(newer({ only: 'web', restart: true }), ['start web'])
  assert.deepEqual(newer({ newerImages: false, restart: true }), [])
})
