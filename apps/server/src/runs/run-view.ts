import type { Action, Run, TestCase, TestSuite } from '@stackquay/contract'
import { visibleText } from '@stackquay/contract'
import type { ProjectCommands } from '@stackquay/domain'
import type { Commands } from '@stackquay/engine-api'
import type { RunRow, TestCaseRow } from '@stackquay/store'
import { planOf } from './run-plan.ts'

/** A run as it is answered, field by field: what it remembers for itself is not among them. */
export function runView(row: RunRow, output: Run['output']): Run {
  return { ...runEvent(row), output }
}

/** The same for events, which tell nothing of output: it grows without an event. */
export function runEvent(row: RunRow): Omit<Run, 'output'> {
  return {
    id: row.id,
    project: row.project,
    kind: row.kind,
    name: row.name,
    label: visibleText(row.label),
    runtime: row.runtime,
    state: row.state,
    phase: row.phase,
    filter: row.filter,
    dueAt: planOf(row).dueAt,
    exitCode: row.exitCode,
    signal: row.signal,
    error: row.error,
    tests: row.counts,
    actor: row.actor,
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    durationSeconds: durationOf(row),
  }
}

/** With the positions of what is kept of its output, which the engine knows. */
export async function shownRun(row: RunRow, commands: Pick<Commands, 'find'>): Promise<Run> {
  const command = await commands.find({ project: row.project, id: row.id })
  return runView(row, command === null ? null : { first: command.output.first, end: command.output.end })
}

export function testCaseView(row: TestCaseRow): TestCase {
  return {
    name: visibleText(row.name),
    group: row.group === null ? null : visibleText(row.group),
    file: row.file === null ? null : visibleText(row.file),
    line: row.line,
    outcome: row.outcome,
    durationSeconds: row.seconds,
    message: row.message,
    details: row.details,
    flaky: row.flaky,
  }
}

export function actionView(action: ProjectCommands['actions'][number], reason: string | null, last?: RunRow): Action {
  return {
    id: action.id,
    label: visibleText(action.label),
    summary: visibleText(action.summary),
    runtime: action.runtime,
    command: [...action.argv],
    available: reason === null,
    reason,
    destructive: action.destructive,
    lastRun: last?.id ?? null,
  }
}

export function suiteView(
  suite: ProjectCommands['suites'][number],
  reason: string | null,
  lastRun: Run | null,
): TestSuite {
  return {
    id: suite.id,
    label: visibleText(suite.label),
    runner: suite.runner,
    runtime: suite.runtime,
    because: suite.because,
    available: reason === null,
    reason,
    filterHelp: suite.filterHelp,
    lastRun,
  }
}

export function isOver({ state }: Pick<RunRow, 'state'>): boolean {
  return state !== 'queued' && state !== 'running'
}

/** Of the command alone: what was installed before it says nothing about the command. */
function durationOf({ startedAt, finishedAt }: RunRow): number | null {
  return startedAt === null || finishedAt === null ? null : (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000
}
