import { z } from 'zod'
import { OutputRange, ProblemSchema, Time } from './common.ts'

export const runKinds = ['action', 'test', 'cron'] as const
/** `failed`: it ended with another code than 0, or could not begin; `cancelled`: a person ended it. */
export const runStates = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const

export const ActionName = z.string().min(1).max(200).describe('Id of an action, as GET …/actions lists it.')
export const SuiteName = z.string().min(1).max(200).describe('Id of a test suite, as GET …/tests lists it.')
export const RunId = z.string().min(1).max(60).describe('Id of a run: `run_…`.')

export const Action = z
  .object({
    id: z.string().describe('`node.build`: the runtime and a name.'),
    label: z.string().describe('`npm run build`.'),
    summary: z.string(),
    runtime: z.string().nullable(),
    command: z.array(z.string()).describe('argv, without its environment.'),
    available: z.boolean(),
    reason: z.string().nullable().describe('Why it cannot run now, and what to do.'),
    destructive: z.boolean().describe('It may delete data of the project; clients ask before they run it.'),
    lastRun: z.string().nullable().describe('Id of its newest run.'),
  })
  .meta({ id: 'Action' })
export type Action = z.infer<typeof Action>

export const TestCounts = z
  .object({
    total: z.int(),
    passed: z.int(),
    failed: z.int().describe('With errors.'),
    skipped: z.int(),
    flaky: z.int().describe('Tests of this run that passed and failed on the same source.'),
  })
  .meta({ id: 'TestCounts' })
export type TestCounts = z.infer<typeof TestCounts>

export const Run = z
  .object({
    id: RunId,
    project: z.string().describe('Id of the project.'),
    kind: z.enum(runKinds),
    name: z.string().describe('Id of the action or suite, or name of the cron job.'),
    label: z.string(),
    runtime: z.string().nullable(),
    state: z.enum(runStates),
    phase: z.string().nullable().describe('While it runs: its current part, such as "Install dependencies".'),
    filter: z.string().nullable().describe('Of a test run: the chosen tests.'),
    dueAt: Time.nullable().describe('Of a cron job: the time for which it was started; null: a person started it.'),
    exitCode: z.int().nullable(),
    signal: z.string().nullable(),
    error: ProblemSchema.nullable().describe('Why it could not begin or was ended: a missing program, a timeout.'),
    tests: TestCounts.nullable().describe('Of a test run whose results could be read.'),
    actor: z.string(),
    createdAt: Time,
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
    durationSeconds: z.number().nullable(),
    output: OutputRange.nullable().describe('Positions of its kept output; null when none is kept any more.'),
  })
  .meta({ id: 'Run' })
export type Run = z.infer<typeof Run>

export const TestCase = z
  .object({
    name: z.string(),
    group: z.string().nullable().describe('Class, describe block or package.'),
    file: z.string().nullable().describe('Relative to the project.'),
    line: z.int().nullable(),
    outcome: z.enum(['passed', 'failed', 'skipped']),
    durationSeconds: z.number().nullable(),
    message: z.string().nullable().describe('Of a failed test: the failure, in a few lines.'),
    details: z.string().nullable().describe('Of a failed test: the trace.'),
    flaky: z.boolean().describe('It passed and failed on the same source.'),
  })
  .meta({ id: 'TestCase' })
export type TestCase = z.infer<typeof TestCase>

export const TestSuite = z
  .object({
    id: z.string().describe('`python.pytest`.'),
    label: z.string(),
    runner: z.string().describe('`pytest`, `vitest`, `go-test` …'),
    runtime: z.string().nullable(),
    because: z.string().describe('Why it was recognised: `package.json depends on vitest`.'),
    available: z.boolean(),
    reason: z.string().nullable().describe('Why it cannot run now, and what to do.'),
    filterHelp: z.string().describe('What its filter takes.'),
    lastRun: Run.nullable(),
  })
  .meta({ id: 'TestSuite' })
export type TestSuite = z.infer<typeof TestSuite>

export const Tests = z
  .object({ suites: z.array(TestSuite), runs: z.array(Run).describe('Newest first, at most 50.') })
  .meta({ id: 'Tests' })
export const TestRunBody = z
  .strictObject({
    filter: z.string().trim().min(1).max(500).optional().describe('Which tests, in the words of the runner.'),
  })
  .meta({ id: 'TestRunRequest' })
