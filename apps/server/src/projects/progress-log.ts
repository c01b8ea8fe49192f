import { ArchiveError } from '@stackquay/archive'
import {
  type OperationRecord,
  type Problem,
  type ProblemCode,
  ProblemError,
  problemKinds,
  problemOf,
} from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import { FilesError } from '@stackquay/engines'
import {
  DeadlineError,
  InterruptedError,
  type OrchestratorOptions,
  type Outcome,
  type StepRecord,
} from '@stackquay/orchestrator'
import {
  type NewAuditEntry,
  type OperationRow,
  type ProjectRow,
  type Store,
  StoreFullError,
  type Transaction,
} from '@stackquay/store'
import { TargetError } from '@stackquay/targets'
import { archiveProblem } from '../http/archive-problem.ts'
import { filesProblem } from '../http/files-problem.ts'
import { targetProblem } from '../http/target-problem.ts'
import type { Foreseen, Model } from './model.ts'
import { isEnded, operationView } from './view.ts'

/** Output is told in batches: whole lines, at most so often. */
const outputEveryMs = 100
/** Steps that follow each other faster are told together. After a crash an operation begins again, whatever is stored of its steps. */
const progressEveryMs = 250

/** Writes an operation's course down, tells it as events, and appends the outcome to the audit log: one transaction each. */
export function createProgressLog(options: {
  readonly store: Store
  readonly model: Model
  readonly now: () => Date
  onError(error: unknown, what: string): void
}): OrchestratorOptions['progressLog'] & {
  /** The operation brings its project to this specification; written down with what is written next. */
  carries(operation: string, row: ProjectRow): void
  flush(): Promise<void>
} {
  const { store, now } = options
  const waiting = new Map<string, { project: string | null; step: string; lines: string[] }>()
  const carried: Carried = new Map()
  let timer: NodeJS.Timeout | null = null

  const { begin, write } = createRecords(store, options.model, carried)
  const course = createCourse(write, options.onError)
  const flush = async () => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const batches = [...waiting]
    waiting.clear()
    if (batches.length === 0) return
    await store.transaction(async (tx) => {
      for (const [operation, { project, step, lines }] of batches) {
        await tx.events.append({
          type: 'operation.output',
          project,
          data: { operation, step, lines: lines.slice(-500) },
        })
      }
    })
  }

  const running = new Map<string, string | null>()
  return {
    started: async ({ id, project, isBegun = false }) => {
      if (!isBegun && (await begin(id)) === null) return false
      running.set(id, project)
      return true
    },
    progress: async (id, steps, progress) => course.tell(id, { steps: steps.map(stepView), progress }),
    output: (id, step, lines) => {
      const project = running.get(id)
      if (project === undefined) return
      const batch = waiting.get(id)
      if (batch?.step === step) batch.lines.push(...lines)
      else if (batch === undefined) waiting.set(id, { project, step, lines: [...lines] })
      else {
        void flush().catch((error: unknown) => options.onError(error, 'telling output'))
        waiting.set(id, { project, step, lines: [...lines] })
      }
      timer ??= setTimeout(
        () => void flush().catch((error: unknown) => options.onError(error, 'telling output')),
        outputEveryMs,
      )
    },
    ended: async (id, outcome, steps) => {
      await Promise.all([course.end(id), flush()])
      running.delete(id)
      const error = outcome.state === 'failed' ? problemOfFailure(outcome.error, steps) : null
      await write(
        id,
        {
          state: outcome.state,
          steps: steps.map(stepView),
          progress: outcome.state === 'succeeded' ? 1 : share(steps),
          error: error as OperationRecord['error'],
          finishedAt: now().toISOString(),
        },
        outcome,
      )
      carried.delete(id)
    },
    carries: (id, { generation, spec }) => void carried.set(id, { generation, spec }),
    flush: async () => {
      await Promise.all([course.flush(), flush()])
    },
  }
}

/** What is told of steps is written a moment later, the newest alone. */
function createCourse<Progress>(
  write: (operation: string, progress: Progress) => Promise<void>,
  onError: (error: unknown, what: string) => void,
) {
  const waiting = new Map<string, { newest: Progress; readonly timer: NodeJS.Timeout }>()
  const writing = new Map<string, Promise<void>>()
  const writeNow = (id: string) => {
    const entry = waiting.get(id)
    if (entry === undefined) return
    clearTimeout(entry.timer)
    waiting.delete(id)
    const mine = (writing.get(id) ?? Promise.resolve())
      .then(() => write(id, entry.newest))
      .catch((error: unknown) => onError(error, 'telling the course of an operation'))
      .finally(() => {
        if (writing.get(id) === mine) writing.delete(id)
      })
    writing.set(id, mine)
  }
  return {
    tell: (id: string, newest: Progress) => {
      const entry = waiting.get(id)
      if (entry !== undefined) entry.newest = newest
      else waiting.set(id, { newest, timer: setTimeout(() => writeNow(id), progressEveryMs) })
    },
    /** What was not written yet is not needed any more, and nothing of it is written from here on. */
    end: async (id: string) => {
      clearTimeout(waiting.get(id)?.timer)
      waiting.delete(id)
      await writing.get(id)
    },
    flush: async () => {
      for (const id of [...waiting.keys()]) writeNow(id)
      await Promise.all(writing.values())
    },
  }
}

type Carried = Map<string, Pick<ProjectRow, 'generation' | 'spec'>>

/** The row, the event and, at the end, the audit entry and what counts as carried out: one transaction each. */
function createRecords(store: Store, model: Model, carried: Carried) {
  const told = (row: OperationRow) => {
    if (isEnded(row)) model.operationEnded(row.id, row.project)
    else model.setOperation(operationView(row))
  }
  return {
    /** Null when it was cancelled while it waited. */
    begin: async (id: string): Promise<OperationRow | null> => {
      const row = await store.transaction(async (tx) => {
        const begun = await tx.operations.begin(id)
        if (begun !== null) await tellChange(tx, begun)
        return begun
      })
      if (row !== null) told(row)
      return row
    },
    write: async (id: string, change: Parameters<Transaction['operations']['update']>[1], outcome?: Outcome) => {
      const carries = carried.get(id)
      let foreseen: Foreseen | null = null
      const row = await store.transaction(async (tx) => {
        let project: ProjectRow | null = null
        const updated = await tx.operations.update(id, { ...change, ...generationOf(carries) })
        // In the same transaction: what was carried out is never asked for again, and nothing counts as carried out that was not.
        if (
          outcome?.state === 'succeeded' &&
          carries !== undefined &&
          updated.project !== null &&
          (await store.projects.find(updated.project)) !== null
        )
          project = await tx.projects.carriedOut(updated.project, carries.generation, carries.spec)
        await tellChange(tx, updated)
        if (outcome === undefined) return updated
        await tx.audit.append(outcomeEntry(updated, outcome))
        foreseen = model.foreseeEnd(id, updated.project, project)
        if (foreseen?.event != null) await tx.events.append(foreseen.event)
        return updated
      })
      if (foreseen === null) told(row)
      else (foreseen as Foreseen).took()
    },
  }
}

function generationOf(carries: Pick<ProjectRow, 'generation'> | undefined): { generation?: number } {
  return carries === undefined ? {} : { generation: carries.generation }
}

async function tellChange(tx: Transaction, row: OperationRow): Promise<void> {
  await tx.events.append({ type: 'operation.changed', project: row.project, data: { ...operationView(row) } })
}

/** By whoever asked for the operation, as what the service did of it. */
export function outcomeEntry(row: OperationRow, { state }: Pick<Outcome, 'state'>): NewAuditEntry {
  return {
    actor: row.actor,
    action: `operation.${state}`,
    target: row.id,
    project: row.project,
    outcome: state === 'succeeded' ? 'success' : 'failure',
    changes: { kind: row.kind, ...(row.error === null ? {} : { code: row.error.code }) },
    requestId: row.requestId,
    operationId: row.id,
    source: 'system',
    ip: null,
    userAgent: null,
  }
}

function share(steps: readonly StepRecord[]): number {
  return steps.length === 0 ? 0 : steps.filter((step) => step.state === 'succeeded').length / steps.length
}

function stepView(step: StepRecord): OperationRecord['steps'][number] {
  return {
    id: step.id,
    title: step.title,
    state: step.state,
    startedAt: step.startedAt,
    finishedAt: step.finishedAt,
    output: [...step.output],
  }
}

/** Why an operation failed, for the person: the step, the reason, what to do, and the last log lines. */
export function problemOfFailure(failure: unknown, steps: readonly StepRecord[] = []): Problem {
  const error = foreseen(failure)
  const step = steps.find((candidate) => candidate.state === 'failed')
  const extensions = step === undefined ? {} : { step: step.title }
  if (error instanceof ProblemError) {
    return problemOf(
      new ProblemError(error.code, error.message, {
        ...(error.hint === undefined ? {} : { hint: error.hint }),
        ...(error.errors === undefined ? {} : { errors: error.errors }),
        extensions: { ...error.extensions, ...extensions },
      }),
    )
  }
  if (error instanceof EngineError) {
    const known = error.code === 'invalid_archive' ? 'backup_damaged' : error.code
    const code: ProblemCode = known in problemKinds ? (known as ProblemCode) : 'internal_error'
    return problemOf(
      new ProblemError(code, error.message, {
        hint: error.hint,
        extensions: { ...extensions, logTail: [...error.logTail] },
      }),
    )
  }
  if (error instanceof DeadlineError)
    return problemOf(new ProblemError('deadline_exceeded', error.message, { extensions }))
  if (error instanceof InterruptedError)
    return problemOf(new ProblemError('interrupted', error.message, { extensions }))
  if (isFull(error)) return problemOf(new ProblemError('disk_full', 'The disk is full.', { extensions }))
  return problemOf(
    new ProblemError('internal_error', 'Something unexpected went wrong; the service’s log has the details.', {
      extensions,
    }),
  )
}

function foreseen(failure: unknown): unknown {
  if (failure instanceof TargetError) return targetProblem(failure)
  if (failure instanceof FilesError) return filesProblem(failure)
  return failure instanceof ArchiveError ? archiveProblem(failure) : failure
}

/** By Node's code, or by the words of a program that was run for it. */
function isFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof StoreFullError) return true
  const code = 'code' in error ? error.code : undefined
  return code === 'ENOSPC' || code === 'EDQUOT' || error.message.includes('No space left on device')
}
