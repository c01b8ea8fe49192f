import { z } from 'zod'
import { ProblemSchema } from './schemas/common.ts'
import { LogLine, WorkloadStats } from './schemas/observe.ts'
import { Run, TestCase } from './schemas/runs.ts'
import { EventRecord } from './schemas/system.ts'
import { ExecBody, Terminal, TerminalSize } from './schemas/terminals.ts'

/** Frames of our WebSocket streams: JSON text, one object each, all with a growing `seq`. */
export const LogFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), seq: z.int() }),
  /** Lines come in batches: 64 KB or 8 ms, whichever is first. */
  z.object({ type: z.literal('lines'), seq: z.int(), items: z.array(LogLine) }),
  z.object({ type: z.literal('error'), seq: z.int(), problem: ProblemSchema }),
])
export type LogFrame = z.infer<typeof LogFrame>

export const StatsFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), seq: z.int() }),
  z.object({ type: z.literal('stats'), seq: z.int(), items: z.array(WorkloadStats) }),
  z.object({ type: z.literal('error'), seq: z.int(), problem: ProblemSchema }),
])
export type StatsFrame = z.infer<typeof StatsFrame>

export const EventFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), seq: z.int() }),
  z.object({ type: z.literal('event'), seq: z.int(), event: EventRecord }),
  z.object({ type: z.literal('error'), seq: z.int(), problem: ProblemSchema }),
])
export type EventFrame = z.infer<typeof EventFrame>

const failure = z.object({ type: z.literal('error'), seq: z.int(), problem: ProblemSchema })

/**
 * A run of an action or a test suite. `seq` is the position in its output: `after` takes that of the last frame that was
 * read. Frames without output carry the position reached so far.
 */
export const RunFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), seq: z.int(), run: Run }),
  z.object({
    type: z.literal('output'),
    seq: z.int(),
    stream: z.enum(['stdout', 'stderr']),
    time: z.int().describe('When it was printed, ms since 1970.'),
    text: z.string(),
  }),
  /** Older output is gone: it was more than is kept. Reading goes on behind the gap, at `seq`. */
  z.object({ type: z.literal('gap'), seq: z.int(), bytes: z.int() }),
  z.object({ type: z.literal('status'), seq: z.int(), run: Run }),
  /** Of a test run, once its results were read: counts, and at most 200 of its failed tests. */
  z.object({ type: z.literal('result'), seq: z.int(), run: Run, failed: z.array(TestCase) }),
  z.object({
    type: z.literal('exit'),
    seq: z.int(),
    code: z.int().nullable(),
    signal: z.string().nullable(),
    run: Run,
  }),
  failure,
])
export type RunFrame = z.infer<typeof RunFrame>
/** What a watcher of a run may send. */
export const RunInput = z.discriminatedUnion('type', [z.strictObject({ type: z.literal('cancel') })])

/** Set when its limits had to do with the end. */
const limited = {
  outOfMemory: z.literal(true).optional().describe('It was ended because memory ran out.'),
  outOfProcesses: z.literal(true).optional().describe('It failed after it wanted more processes than it may have.'),
}

const exit = z.object({
  type: z.literal('exit'),
  seq: z.int(),
  code: z.int().nullable(),
  signal: z.string().nullable(),
  ...limited,
})
/** A terminal's text frames; its output comes as binary frames. `seq` is the byte offset reached. */
export const TerminalFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), seq: z.int(), terminal: Terminal }),
  z.object({ type: z.literal('gap'), seq: z.int(), bytes: z.int() }),
  z.object({ type: z.literal('status'), seq: z.int(), terminal: Terminal }),
  exit,
  failure,
])
export type TerminalFrame = z.infer<typeof TerminalFrame>
export const TerminalInput = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('resize'), ...TerminalSize }),
  z.strictObject({ type: z.literal('cancel') }),
])

/** Text frames of exec; output comes as binary frames whose first byte is 1 for stdout, 2 for stderr. */
export const ExecFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), seq: z.int(), pid: z.int() }),
  exit,
  failure,
])
export type ExecFrame = z.infer<typeof ExecFrame>
export const execSignals = [
  'SIGINT',
  'SIGTERM',
  'SIGKILL',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGCONT',
  'SIGTSTP',
] as const
export const ExecInput = z.discriminatedUnion('type', [
  ExecBody.extend({ type: z.literal('run') }),
  z.strictObject({ type: z.literal('eof') }),
  z.strictObject({ type: z.literal('signal'), signal: z.enum(execSignals) }),
])
