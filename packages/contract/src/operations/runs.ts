import { z } from 'zod'
import { operation } from '../operation.ts'
import { Cursor, Limit, listOf, ProjectRef, pageOf, Seq, textOf, Wait } from '../schemas/common.ts'
import {
  Action,
  ActionName,
  Run,
  RunId,
  runKinds,
  runStates,
  SuiteName,
  TestCase,
  TestRunBody,
  Tests,
} from '../schemas/runs.ts'

const read = { kind: 'scope', scope: 'read', project: true } as const
const operate = { kind: 'scope', scope: 'operate', project: true } as const
const id = z.object({ id: ProjectRef })
const action = z.object({ id: ProjectRef, action: ActionName })
const suite = z.object({ id: ProjectRef, suite: SuiteName })
const run = z.object({ id: ProjectRef, run: RunId })
const waiting = z.strictObject({ wait: Wait.describe('Seconds to wait for the end of the run, at most 300.') })
const after = Seq.describe('Continue after this `seq`; 0 is the beginning.')
const startOrFollow = {
  run: RunId.optional().describe('Follow this run. Without it a new one is started.'),
  after,
}
const cannotStart = ['busy', 'unavailable_here', 'not_running', 'engine_cannot', 'validation_failed'] as const

export const listActions = operation({
  id: 'listActions',
  method: 'GET',
  path: '/projects/{id}/actions',
  tag: 'Actions',
  summary: 'Actions of the project, found in its source',
  description:
    'A closed catalogue: each action is an argv that the service made from the source. Free commands go through exec.',
  access: read,
  params: id,
  results: { 200: listOf('ActionList', Action) },
  problems: [],
})

export const runAction = operation({
  id: 'runAction',
  method: 'POST',
  path: '/projects/{id}/actions/{action}',
  tag: 'Actions',
  summary: 'Run an action',
  description: 'Answers the run at once, or with ?wait= at its end. It continues without watchers.',
  access: operate,
  params: action,
  query: waiting,
  results: { 202: Run, 200: Run },
  problems: cannotStart,
  audit: 'action.run',
})

export const watchAction = operation({
  id: 'watchAction',
  method: 'GET',
  path: '/projects/{id}/actions/{action}/ws',
  tag: 'Actions',
  summary: 'Run an action and follow it as WebSocket frames',
  description:
    'Without `run` a new run is started. The `start` frame names it: to come back, send `run` and `after`. ' +
    'Send {"type":"cancel"} to end it; closing the socket does not.',
  access: operate,
  params: action,
  query: z.strictObject(startOrFollow),
  results: { 101: null },
  stream: 'websocket',
  ticket: 'stream',
  problems: [...cannotStart, 'too_old'],
  audit: 'action.run',
})

export const listTests = operation({
  id: 'listTests',
  method: 'GET',
  path: '/projects/{id}/tests',
  tag: 'Tests',
  summary: 'Test suites found in the source, and recent runs',
  description: 'A suite that cannot run here has a `reason`.',
  access: read,
  params: id,
  results: { 200: Tests },
  problems: [],
})

export const runTests = operation({
  id: 'runTests',
  method: 'POST',
  path: '/projects/{id}/tests/{suite}',
  tag: 'Tests',
  summary: 'Run a test suite',
  description:
    'Answers the run at once, or with ?wait= at its end. A run gets databases of its own, made for it and dropped after it: ' +
    'no test can change the data of the project.',
  access: operate,
  params: suite,
  query: waiting,
  body: TestRunBody.optional(),
  results: { 202: Run, 200: Run },
  problems: cannotStart,
  audit: 'test.run',
})

export const watchTests = operation({
  id: 'watchTests',
  method: 'GET',
  path: '/projects/{id}/tests/{suite}/ws',
  tag: 'Tests',
  summary: 'Run a test suite and follow it as WebSocket frames',
  description:
    'Without `run` a new run is started. The `start` frame names it: to come back, send `run` and `after`. ' +
    'Send {"type":"cancel"} to end it; closing the socket does not.',
  access: operate,
  params: suite,
  query: z.strictObject({ ...startOrFollow, filter: TestRunBody.shape.filter }),
  results: { 101: null },
  stream: 'websocket',
  ticket: 'stream',
  problems: [...cannotStart, 'too_old'],
  audit: 'test.run',
})

export const listRuns = operation({
  id: 'listRuns',
  method: 'GET',
  path: '/projects/{id}/runs',
  tag: 'Runs',
  summary: 'Runs of actions and tests, newest first',
  description: 'Filters can be combined.',
  access: read,
  params: id,
  query: z.strictObject({
    limit: Limit,
    cursor: Cursor,
    kind: z.enum(runKinds).optional().describe('Only runs of this kind.'),
    name: z.string().max(200).optional().describe('Id of an action or suite.'),
    state: z.enum(runStates).optional().describe('Only runs in this state.'),
  }),
  results: { 200: pageOf('RunPage', Run) },
  problems: ['invalid_request'],
})

export const getRun = operation({
  id: 'getRun',
  method: 'GET',
  path: '/projects/{id}/runs/{run}',
  tag: 'Runs',
  summary: 'Read a run, or wait for its end',
  description: '`wait` answers when the run has ended.',
  access: read,
  params: run,
  query: waiting,
  results: { 200: Run },
  problems: [],
})

export const listTestCases = operation({
  id: 'listTestCases',
  method: 'GET',
  path: '/projects/{id}/runs/{run}/tests',
  tag: 'Tests',
  summary: 'The tests of a run: failed ones first, then in the order they ran',
  description: 'A run whose results could not be read has none.',
  access: read,
  params: run,
  query: z.strictObject({
    limit: Limit,
    cursor: Cursor,
    outcome: z.enum(['passed', 'failed', 'skipped', 'flaky']).optional().describe('Only tests with this outcome.'),
  }),
  results: { 200: pageOf('TestCasePage', TestCase) },
  problems: ['invalid_request'],
})

export const getRunOutput = operation({
  id: 'getRunOutput',
  method: 'GET',
  path: '/projects/{id}/runs/{run}/output',
  tag: 'Runs',
  summary: 'Output of a run, as text',
  description: 'Older output may be cut at the beginning.',
  access: read,
  params: run,
  results: { 200: textOf('RunText', 'What the run printed, as UTF-8 text.') },
  resultType: 'text/plain',
  ticket: 'download',
  problems: [],
})

const cancels = {
  to: 'operate',
  when: { part: 'frame', pointers: ['/type'], equals: 'cancel' },
  because: 'it cancels the run',
} as const

export const watchRun = operation({
  id: 'watchRun',
  method: 'GET',
  path: '/projects/{id}/runs/{run}/ws',
  tag: 'Runs',
  summary: 'Follow a run as WebSocket frames',
  description: 'Begins at `after`, ends with an `exit` frame.',
  access: { ...read, raised: [cancels] },
  params: run,
  query: z.strictObject({ after }),
  results: { 101: null },
  stream: 'websocket',
  ticket: 'stream',
  problems: ['too_old'],
})

export const cancelRun = operation({
  id: 'cancelRun',
  method: 'POST',
  path: '/projects/{id}/runs/{run}/cancel',
  tag: 'Runs',
  summary: 'End a run with everything it started',
  description: 'Cancelling a run that has ended changes nothing.',
  access: operate,
  params: run,
  query: waiting,
  results: { 202: Run, 200: Run },
  problems: [],
  audit: 'run.cancel',
})
