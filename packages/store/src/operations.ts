import type { Reading, Writing } from './context.ts'
import { ChangedError } from './errors.ts'
import { given } from './prepared.ts'
import type { OperationsTable } from './schema.ts'
import type { OperationReader, OperationRow, Transaction } from './store.ts'

/** In the column: the operation is of no project. */
const ofInstance = ''

const unfinishedStates = ['queued', 'running']

export function operationReader({ db, prepare }: Reading): OperationReader {
  const from = db.selectFrom('operations').selectAll()
  const byId = prepare(from.where('id', '=', given<string>('id')))
  const ofProject = from
    .where('project', '=', given<string>('project'))
    .where('state', 'in', unfinishedStates)
    // The one that holds the project before those that wait for it.
    .orderBy('state', 'desc')
    .orderBy('id')
  const current = prepare(ofProject.limit(1))
  const currentAll = prepare(ofProject)

  return {
    find: async (id) => byId({ id }).map(operationOf)[0] ?? null,
    list: async ({ limit, cursor, project, projects, state, active }) => {
      if (projects?.length === 0) return []
      let query = from.orderBy('id', 'desc').limit(limit)
      if (cursor !== undefined) query = query.where('id', '<', cursor)
      if (project !== undefined) query = query.where('project', '=', project)
      if (projects !== undefined) query = query.where('project', 'in', [...projects])
      if (state !== undefined) query = query.where('state', '=', state)
      if (active !== undefined) query = query.where('state', active ? 'in' : 'not in', unfinishedStates)
      return (await query.execute()).map(operationOf)
    },
    active: async (project) => current({ project }).map((row) => ({ ...operationOf(row), project }))[0] ?? null,
    unfinishedOf: async (project) => currentAll({ project }).map((row) => ({ ...operationOf(row), project })),
    unfinished: async () =>
      (await from.where('state', 'in', unfinishedStates).orderBy('id').execute()).map(operationOf),
  }
}

export function operationWriter({ db, now }: Writing): Transaction['operations'] {
  const change = async (
    id: string,
    values: { readonly [Field in keyof OperationsTable]?: OperationsTable[Field] | undefined },
  ): Promise<OperationRow> => {
    // Names itself, so that a change of nothing is still a sentence.
    const row = await db
      .updateTable('operations')
      .set({ id, ...values })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) throw new ChangedError(`Operation ${id} is not there any more.`)
    return operationOf(row)
  }
  const waitingOne = async (id: string): Promise<OperationsTable> => {
    const row = await db.selectFrom('operations').selectAll().where('id', '=', id).executeTakeFirst()
    if (row?.state !== 'queued') throw new ChangedError(`Operation ${id} does not wait any more.`)
    return row
  }

  return {
    insert: async (operation) => {
      const row: OperationsTable = {
        id: operation.id,
        kind: operation.kind,
        project: operation.project ?? ofInstance,
        actor: operation.actor,
        state: operation.begins === true ? 'running' : 'queued',
        progress: 0,
        attempts: operation.begins === true ? 1 : 0,
        request_id: operation.requestId,
        created_at: now,
        started_at: operation.begins === true ? now : null,
        finished_at: null,
        error: null,
        input: JSON.stringify(operation.input),
        steps: '[]',
        generation: null,
        requested_by: JSON.stringify([
          { actor: operation.actor, requestId: operation.requestId, at: now },
        ] satisfies OperationRow['requestedBy']),
      }
      await db.insertInto('operations').values(row).execute()
      return operationOf(row)
    },
    merge: async (id, { kind, input, actor, requestId }) => {
      const before = await waitingOne(id)
      const requested = [...operationOf(before).requestedBy, { actor, requestId, at: now }]
      return change(id, { kind, input: JSON.stringify(input), requested_by: JSON.stringify(requested) })
    },
    begin: async (id) => {
      const before = await db.selectFrom('operations').selectAll().where('id', '=', id).executeTakeFirst()
      if (before === undefined || !unfinishedStates.includes(before.state)) return null
      return change(id, { state: 'running', started_at: before.started_at ?? now, attempts: before.attempts + 1 })
    },
    cancel: async (id) => {
      await waitingOne(id)
      return change(id, { state: 'cancelled', finished_at: now })
    },
    update: async (id, { state, steps, progress, error, startedAt, finishedAt, attempts, ...rest }) => {
      return change(id, {
        state,
        steps: steps === undefined ? undefined : JSON.stringify(steps),
        progress,
        error: error === undefined ? undefined : error === null ? null : JSON.stringify(error),
        started_at: startedAt,
        finished_at: finishedAt,
        attempts,
        input: rest.input === undefined ? undefined : JSON.stringify(rest.input),
        generation: rest.generation,
      })
    },
  }
}

function operationOf(row: OperationsTable): OperationRow {
  return {
    id: row.id,
    kind: row.kind as OperationRow['kind'],
    project: row.project === ofInstance ? null : row.project,
    state: row.state as OperationRow['state'],
    steps: JSON.parse(row.steps) as OperationRow['steps'],
    progress: row.progress,
    error: row.error === null ? null : (JSON.parse(row.error) as OperationRow['error']),
    actor: row.actor,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    input: JSON.parse(row.input) as OperationRow['input'],
    attempts: row.attempts,
    requestId: row.request_id,
    generation: row.generation,
    requestedBy:
      row.requested_by === null
        ? [{ actor: row.actor, requestId: row.request_id, at: row.created_at }]
        : (JSON.parse(row.requested_by) as OperationRow['requestedBy']),
  }
}
