import type { Terminal } from '@stackquay/contract'
import type { Reading, Writing } from './context.ts'
import type { TerminalReader, TerminalRow, TerminalWriter } from './model/terminals.ts'
import { given } from './prepared.ts'
import type { TerminalsTable } from './schema.ts'

export function terminalReader({ db, prepare }: Reading): TerminalReader {
  const from = db.selectFrom('terminals').selectAll()
  const byId = prepare(from.where('id', '=', given<string>('id')))
  return {
    find: async (id) => byId({ id }).map(terminalOf)[0] ?? null,
    of: async (project) => (await from.where('project', '=', project).orderBy('id').execute()).map(terminalOf),
    all: async () => (await from.orderBy('id').execute()).map(terminalOf),
  }
}

export function terminalWriter({ db, now }: Writing): TerminalWriter {
  return {
    insert: async (terminal) => {
      const row: TerminalsTable = {
        ...terminal,
        exit_code: null,
        signal: null,
        cause: null,
        created_at: now,
        ended_at: null,
      }
      await db.insertInto('terminals').values(row).execute()
      return terminalOf(row)
    },
    ended: async (id, { exitCode, signal, cause, at }) => {
      await db
        .updateTable('terminals')
        .set({ exit_code: exitCode, signal, cause, ended_at: at })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .execute()
    },
    delete: async (id) => {
      await db.deleteFrom('terminals').where('id', '=', id).execute()
    },
  }
}

function terminalOf(row: TerminalsTable): TerminalRow {
  return {
    id: row.id,
    project: row.project,
    workload: row.workload,
    title: row.title,
    actor: row.actor,
    owner: row.owner,
    exitCode: row.exit_code,
    signal: row.signal,
    cause: row.cause as Terminal['cause'],
    createdAt: row.created_at,
    endedAt: row.ended_at,
  }
}
