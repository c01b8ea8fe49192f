import type { Action, Run, RunFrame, TestCase, TestSuite } from '@stackquay/contract'

const time = '2026-01-01T00:00:00.000Z'

export function action(rest: Partial<Action> = {}): Action {
  return {
    id: 'node.build',
    label: 'npm run build',
    summary: 'The script "build" of package.json.',
    runtime: 'node',
    command: ['npm', 'run', 'build'],
    available: true,
    reason: null,
    destructive: false,
    lastRun: null,
    ...rest,
  }
}

export function suite(rest: Partial<TestSuite> = {}): TestSuite {
  return {
    id: 'node.test',
    label: 'node --test',
    runner: 'node-test',
    runtime: 'node',
    because: 'package.json has the script "test"',
    available: true,
    reason: null,
    filterHelp: 'Part of the test’s name.',
    lastRun: null,
    ...rest,
  }
}

export function run(rest: Partial<Run> = {}): Run {
  return {
    id: 'run_1',
    project: 'prj_1',
    kind: 'action',
    name: 'node.build',
    label: 'npm run build',
    runtime: 'node',
    state: 'running',
    phase: null,
    filter: null,
    dueAt: null,
    exitCode: null,
    signal: null,
    error: null,
    tests: null,
    actor: 'ada',
    createdAt: time,
    startedAt: time,
    finishedAt: null,
    durationSeconds: null,
    output: { first: 0, end: 0 },
    ...rest,
  }
}

export function ended(rest: Partial<Run> = {}): Run {
  const code = { exitCode: 0, state: 'succeeded' as const }
  return run({ ...code, finishedAt: time, durationSeconds: 4.2, ...rest })
}

export function testCase(rest: Partial<TestCase> = {}): TestCase {
  return {
    name: 'adds twice',
    group: 'Cart',
    file: 'test/cart.test.js',
    line: 41,
    outcome: 'failed',
    durationSeconds: 0.1,
    message: 'Expected 2, got 3',
    details: null,
    flaky: false,
    ...rest,
  }
}

export function printed(seq: number, text: string, stream: 'stdout' | 'stderr' = 'stdout'): RunFrame {
  return { type: 'output', seq, stream, time: 0, text }
}

export function exit(last: Run, seq = 1000): RunFrame {
  return { type: 'exit', seq, code: last.exitCode, signal: last.signal, run: last }
}
