import {
  type FieldError,
  type OperationRecord,
  type Plan,
  ProblemError,
  type ProjectPatch,
  type ProjectView,
} from '@stackquay/contract'
import { ChangedError, type OperationRow, type ProjectRow } from '@stackquay/store'
import type { Reply, RequestContext } from '../http/handler.ts'
import { ifMatchHolds } from '../http/preconditions.ts'
import { requireMayRemove } from '../http/rights.ts'
import { type ChangeDeps, type ChangeOptions, proposeChange, writeChange } from './change-project.ts'
import { deletedBy } from './version-changes.ts'
import { operationView, projectView } from './view.ts'

/** How often a change without If-Match is proposed again on what others wrote meanwhile. */
const mostAttempts = 5

/** What every handler of projects does alike: find, wait, change, answer. */
export interface ProjectAnswers {
  /** By id or slug. Throws `not_found`. */
  find(idOrSlug: string): Promise<ProjectRow>
  record(id: string, operation?: OperationRecord | null): ProjectView
  /** Waits for the operation's end, at most so many seconds and only while the caller is there. */
  wait(operation: OperationRow, seconds: number | undefined, context: RequestContext): Promise<OperationRow>
  /** Throws `precondition_failed` when `If-Match` names another generation. */
  holds(row: ProjectRow, context: RequestContext): void
  /** The project, with the operation when there is work: ended, when it was waited for. */
  answerProject(
    row: ProjectRow,
    operation: OperationRow | null,
    seconds: number | undefined,
    context: RequestContext,
    status: 200 | 201,
  ): Promise<Reply<ProjectView>>
  /** Once more on what others wrote meanwhile, when `once` throws `ChangedError`: a few times. */
  again<Answer>(row: ProjectRow, context: RequestContext, once: (row: ProjectRow) => Promise<Answer>): Promise<Answer>
  /** Proposes a change and, unless it is a dry run or no change at all, writes it and answers the project. */
  change(
    row: ProjectRow,
    patch: ProjectPatch,
    context: RequestContext,
    action: string,
    query: { dryRun?: boolean | undefined; wait?: number | undefined },
    options?: ChangeOptions,
  ): Promise<Reply<ProjectView | Plan>>
}

export function createAnswers(deps: ChangeDeps): ProjectAnswers {
  const { store, model } = deps

  const record: ProjectAnswers['record'] = (id, operation) => {
    const parts = model.parts(id)
    if (parts === null) throw new ProblemError('not_found', 'The project is gone.')
    return projectView(operation == null ? parts : { ...parts, operation })
  }

  const wait: ProjectAnswers['wait'] = async (operation, seconds, context) => {
    if (seconds === undefined || seconds === 0) return operation
    await deps.orchestrator.ended(operation.id, AbortSignal.any([context.signal, AbortSignal.timeout(seconds * 1000)]))
    return (await store.operations.find(operation.id)) ?? operation
  }

  const answerProject: ProjectAnswers['answerProject'] = async (row, operation, seconds, context, status) => {
    const ended = operation === null ? null : await wait(operation, seconds, context)
    if (status === 201 && ended?.state === 'failed' && model.find(row.id) === null) throw failure(ended)
    const shown = record(row.id, ended === null ? null : operationView(ended))
    return {
      status,
      body: shown,
      etag: String(shown.generation),
      ...(status === 201 ? { headers: { location: `/api/v1/projects/${row.id}` } } : {}),
    }
  }

  const changeOnce: ProjectAnswers['change'] = async (row, patch, context, action, query, options) => {
    const proposed = await proposeChange(row, patch, deps, { ...options, isShown: query.dryRun === true })
    requireMayRemove(context.principal, deletedBy(proposed))
    if (query.dryRun === true) return { status: 200, body: proposed.plan }
    if (!proposed.isChange && proposed.removal.deleteData.length + proposed.rotates.length === 0)
      return { status: 200, body: record(row.id), etag: String(row.generation) }
    const operation = await writeChange(proposed, context, action, deps)
    return answerProject(row, operation, query.wait, context, 200)
  }

  const again: ProjectAnswers['again'] = async (found, context, once) => {
    for (let row = found, attempt = 1; ; attempt += 1) {
      try {
        return await once(row)
      } catch (error) {
        if (!(error instanceof ChangedError)) throw error
        if (attempt === mostAttempts)
          throw new ProblemError('busy', `The project "${row.slug}" is being changed all the time.`, {
            hint: 'Try again.',
          })
        // Without If-Match it is about the project as it is, whatever was changed meanwhile; with it, only while the settings are the same.
        row = (await store.projects.find(row.id)) ?? missing(row.slug)
        holds(row, context)
      }
    }
  }

  return {
    find: async (idOrSlug) => (await store.projects.find(idOrSlug)) ?? missing(idOrSlug),
    record,
    wait,
    holds,
    answerProject,
    again,
    change: (found, patch, context, action, query, options = {}) =>
      again(found, context, (row) => changeOnce(row, patch, context, action, query, options)),
  }
}

function missing(idOrSlug: string): never {
  throw new ProblemError('not_found', `There is no project "${idOrSlug}".`)
}

function holds(row: ProjectRow, context: RequestContext): void {
  if (ifMatchHolds(context.ifMatch, String(row.generation))) return
  throw new ProblemError(
    'precondition_failed',
    `The project is at generation ${row.generation}, not ${context.ifMatch}.`,
  )
}

/** A creation that was undone: the answer is the reason, as for a request that was refused. */
function failure(operation: OperationRow): ProblemError {
  const error = operation.error
  if (error === null) return new ProblemError('internal_error', 'The creation failed.')
  return new ProblemError(error.code as ProblemError['code'], error.detail, {
    hint: error.hint,
    ...(error.errors === undefined ? {} : { errors: error.errors as readonly FieldError[] }),
    extensions: {
      operation: operation.id,
      ...(error.step === undefined ? {} : { step: error.step }),
      ...(error.logTail === undefined ? {} : { logTail: error.logTail }),
    },
  })
}
