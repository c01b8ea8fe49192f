import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventRecord, OperationRecord, OperationStep } from '@stackquay/contract'
import {
  answeredOperation,
  appendOutput,
  isOver,
  isWhole,
  keptOutput,
  mergeOperation,
  operationOf,
  outputOf,
} from '../src/lib/live.ts'

function step(id: string, state: OperationStep['state'], output: string[] = []): OperationStep {
  return { id, title: id, state, startedAt: null, finishedAt: null, output }
}
function operation(state: OperationRecord['state'], steps: OperationStep[]): OperationRecord {
  return {
    id: 'op_1',
    kind: 'start',
    project: 'prj_1',
    state,
    steps,
    progress: 0.5,
    error: null,
    actor: 'ada',
    requestedBy: [],
    generation: null,
    createdAt: '2026-03-01T12:00:00Z',
    startedAt: '2026-03-01T12:00:00Z',
    finishedAt: null,
  }
}
function event(type: EventRecord['type'], data: Record<string, unknown>): EventRecord {
  return { seq: 1, time: '2026-03-01T12:00:00Z', type, project: 'prj_1', data }
}

test('a summary without output does not take away the output that was received', () => {
  const held = operation('running', [step('install', 'running', ['one', 'two'])])
  const merged = mergeOperation(held, operation('running', [step('install', 'succeeded'), step('start', 'running')]))
  assert.deepEqual(merged.steps[0]?.output, ['one', 'two'])
  assert.equal(merged.steps[0]?.state, 'succeeded')
  assert.equal(merged.steps.length, 2)
})

test('a late event of a finished operation does not make it run again', () => {
  const held = operation('succeeded', [step('start', 'succeeded')])
  assert.equal(mergeOperation(held, operation('running', [step('start', 'running')])), held)
  assert.ok(isOver(held))
})

test('an answer that an event overtook has the end that was told, and all that the event lacks', () => {
  const answer = operation('running', [step('start', 'running', ['one'])])
  const { createdAt: _createdAt, actor: _actor, ...told } = operation('succeeded', [step('start', 'succeeded')])
  assert.equal(isWhole(told), false)
  const shown = answeredOperation(told as OperationRecord, answer)
  assert.deepEqual([shown.state, shown.createdAt, shown.actor], ['succeeded', answer.createdAt, 'ada'])
  assert.deepEqual(
    shown.steps.map(({ state, output }) => [state, output]),
    [['succeeded', ['one']]],
  )
  assert.ok(isWhole(shown))
  const early = answeredOperation({ ...told, state: 'running' } as OperationRecord, answer)
  assert.deepEqual([early.state, early.createdAt], ['running', answer.createdAt])
  assert.deepEqual(answeredOperation(undefined, answer), answer)
})

test('output is appended to its step alone, up to a limit', () => {
  const held = operation('running', [step('a', 'succeeded', ['x']), step('b', 'running')])
  const next = appendOutput(held, 'b', ['y'])
  assert.deepEqual(
    next.steps.map((item) => item.output),
    [['x'], ['y']],
  )
  const full = appendOutput(
    next,
    'b',
    Array.from({ length: keptOutput }, (_, index) => String(index)),
  )
  assert.equal(full.steps[1]?.output.length, keptOutput)
  assert.equal(full.steps[1]?.output[0], '0')
})

test('events of another shape are left alone', () => {
  assert.equal(operationOf(event('operation.changed', { id: 'op_1' })), null)
  assert.equal(outputOf(event('operation.output', { operation: 'op_1', step: 'a', lines: 'x' })), null)
  assert.deepEqual(outputOf(event('operation.output', { operation: 'op_1', step: 'a', lines: ['x', 1] })), {
    operation: 'op_1',
    step: 'a',
    lines: ['x'],
  })
})
