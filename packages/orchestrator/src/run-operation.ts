import type { Outcome, StepContext, Work, WorkStep } from './work.ts'

/** A step as it is told to the world. */
export interface StepRecord {
  readonly id: string
  readonly title: string
  readonly state: 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'skipped'
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly output: readonly string[]
}

/** Where an operation's course is written down and told. */
export interface ProgressLog {
  progress(operation: string, steps: readonly StepRecord[], progress: number): Promise<void>
  output(operation: string, step: string, lines: readonly string[]): void
}

/** Lines of output a step keeps in the record; all of them went through `output`. */
const keptLines = 50

/** An operation was asked to end. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError'
}
/** An operation took longer than its kind allows. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

/** Runs an operation to its end, step by step. Throws only when the service itself is ending (`signal` of reason `closing`). */
export async function runOperation(options: {
  readonly operation: string
  readonly work: Work
  readonly progressLog: ProgressLog
  readonly signal: AbortSignal
  readonly now: () => Date
}): Promise<{ readonly outcome: Outcome; readonly steps: readonly StepRecord[] }> {
  const { operation, work, progressLog, now } = options
  const deadline = startDeadline(work.deadlineSeconds)
  const signal = AbortSignal.any([options.signal, deadline.signal])
  const records: StepRecord[] = []
  const time = () => now().toISOString()
  // Later stages add steps: the share that is done may fall then, what is shown does not.
  let shown = 0
  const progress = () => {
    shown = Math.max(shown, progressOf(records))
    return shown
  }

  const runStep = async (step: WorkStep, index: number): Promise<void> => {
    signal.throwIfAborted()
    records[index] = { ...records[index]!, state: 'running', startedAt: time() }
    await progressLog.progress(operation, [...records], progress())
    const tail = createTail((lines) => progressLog.output(operation, step.id, lines))
    try {
      await step.run({ signal, output: tail.output })
      signal.throwIfAborted()
    } catch (error) {
      const state = signal.aborted && signal.reason instanceof CancelledError ? 'cancelled' : 'failed'
      records[index] = { ...records[index]!, state, finishedAt: time(), output: tail.end() }
      throw error
    }
    records[index] = { ...records[index]!, state: 'succeeded', finishedAt: time(), output: tail.end() }
  }

  const attempt = async (): Promise<Outcome> => {
    for (const stage of work.stages) {
      signal.throwIfAborted()
      const steps = uniqueIds(await stage(), records)
      const first = records.length
      for (const step of steps) {
        records.push({
          id: step.id,
          title: step.title,
          state: 'pending',
          startedAt: null,
          finishedAt: null,
          output: [],
        })
      }
      const numbered = steps.map((step, offset) => ({ step, index: first + offset }))
      for (const group of groupsOf(numbered)) await runBeside(group, ({ step, index }) => runStep(step, index))
    }
    return { state: 'succeeded' }
  }

  let outcome: Outcome
  try {
    outcome = await attempt()
  } catch (error) {
    outcome = signal.aborted ? outcomeOfAbort(signal.reason) : { state: 'failed', error }
  } finally {
    deadline.clear()
  }
  for (const [index, record] of records.entries()) {
    if (record.state === 'pending') records[index] = { ...record, state: 'skipped' }
    // The progress log itself failed between the beginning of the step and its end.
    if (record.state === 'running') records[index] = { ...record, state: 'failed', finishedAt: time() }
  }
  return { outcome, steps: records }
}

interface NumberedStep {
  readonly step: WorkStep
  readonly index: number
}

/** Steps that may run beside each other; one without a branch is alone. */
function groupsOf(steps: readonly NumberedStep[]): readonly (readonly NumberedStep[])[] {
  const groups: NumberedStep[][] = []
  for (const numbered of steps) {
    const last = groups.at(-1)
    if (last !== undefined && numbered.step.branch !== undefined && last[0]?.step.branch !== undefined)
      last.push(numbered)
    else groups.push([numbered])
  }
  return groups
}

/**
 * Branches beside each other, steps of a branch one after the other. After a failure no further step begins; what runs is waited
 * for, so that nothing goes on behind an operation that has ended.
 */
async function runBeside(
  steps: readonly NumberedStep[],
  run: (numbered: NumberedStep) => Promise<void>,
): Promise<void> {
  const branches = Map.groupBy(steps, ({ step }) => step.branch?.name)
  const ends = new Map<string | undefined, Promise<void>>()
  let failure: { readonly error: unknown } | null = null
  const runBranch = async (own: readonly NumberedStep[]) => {
    await Promise.all((own[0]?.step.branch?.after ?? []).map((name) => ends.get(name)))
    for (const numbered of own) {
      if (failure !== null) return
      try {
        await run(numbered)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  // In the order of the plan, in which a branch stands behind those that it waits for.
  for (const [name, own] of branches) ends.set(name, runBranch(own))
  await Promise.all(ends.values())
  if (failure !== null) throw (failure as { readonly error: unknown }).error
}

function outcomeOfAbort(reason: unknown): Outcome {
  if (reason instanceof CancelledError) return { state: 'cancelled' }
  if (reason instanceof DeadlineError) return { state: 'failed', error: reason }
  throw reason
}

function startDeadline(seconds: number): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const timer = setTimeout(
    () => controller.abort(new DeadlineError(`It took longer than ${seconds} seconds.`)),
    seconds * 1000,
  )
  timer.unref()
  return { signal: controller.signal, clear: () => clearTimeout(timer) }
}

/** The same title may come twice in one operation; the record's ids stay unique. */
function uniqueIds(steps: readonly WorkStep[], before: readonly StepRecord[]): readonly WorkStep[] {
  const used = new Set(before.map((record) => record.id))
  return steps.map((step) => {
    let id = step.id
    for (let count = 2; used.has(id); count += 1) id = `${step.id}-${count}`
    used.add(id)
    return id === step.id ? step : { ...step, id }
  })
}

function progressOf(records: readonly StepRecord[]): number {
  const done = records.filter((record) => record.state === 'succeeded').length
  return records.length === 0 ? 0 : done / records.length
}

/** Cuts output into lines, tells them as they come and keeps the last ones. */
function createTail(tell: (lines: readonly string[]) => void): {
  output: StepContext['output']
  end(): readonly string[]
} {
  const kept: string[] = []
  const rest = { stdout: '', stderr: '' }
  const add = (lines: readonly string[]) => {
    if (lines.length === 0) return
    kept.push(...lines)
    if (kept.length > keptLines) kept.splice(0, kept.length - keptLines)
    tell(lines)
  }
  return {
    output: ({ stream, text }) => {
      const lines = (rest[stream] + text).split('\n')
      rest[stream] = lines.pop() ?? ''
      if (rest[stream].length > 16_384) {
        lines.push(rest[stream])
        rest[stream] = ''
      }
      add(lines.map((line) => line.replace(/\r$/, '')))
    },
    end: () => {
      add([rest.stdout, rest.stderr].filter((line) => line !== ''))
      return kept
    },
  }
}
