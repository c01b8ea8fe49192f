import { databaseTypeOf, databaseTypes } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import { databaseSecret, databaseWorkload } from '@stackquay/domain'
import type { SecretRef } from '@stackquay/engine-api'
import type { ProjectRow } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from './answers.ts'
import type { ChangeDeps } from './change-project.ts'
import { databaseFields } from './given-fields.ts'
import { type Given, onceGiven } from './once-given.ts'
import { revealFields } from './reveal-fields.ts'

type DatabaseHandlers = Pick<
  Handlers,
  | 'listDatabases'
  | 'createDatabase'
  | 'updateDatabase'
  | 'deleteDatabase'
  | 'getDatabaseCredentials'
  | 'rotateDatabaseCredentials'
>

export interface DatabaseDeps extends Pick<ChangeDeps, 'store' | 'engine'> {
  reveal(ref: SecretRef): Promise<string>
}

export function databaseHandlers(deps: DatabaseDeps, answers: ProjectAnswers): DatabaseHandlers {
  const { find, record, holds, change } = answers
  /** Type of a database that was dropped, and whose data is still there because its deletion was cut off. */
  const leftOver = async (row: ProjectRow, name: string, signal: AbortSignal): Promise<string | undefined> => {
    const data = await deps.engine.dataNames(row.id, signal)
    return databaseTypes.find((kind) => data.includes(databaseWorkload(kind.name, name)))?.name
  }

  return {
    ...credentialHandlers(deps, answers),

    listDatabases: async ({ params }) => {
      const row = await find(params.id)
      const { databases } = record(row.id)
      return {
        status: 200,
        body: { items: Object.entries(databases).map(([name, database]) => ({ name, ...database })) },
      }
    },

    createDatabase: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      holds(row, context)
      if (Object.hasOwn(row.spec.databases, body.name))
        throw new ProblemError('conflict', `The project has a database "${body.name}" already.`)
      const { name, ...database } = body
      const patch = { databases: { [name]: withoutUndefined(database) } }
      const reply = await change(row, patch, context, 'database.create', query)
      return query.dryRun === true ? reply : { ...reply, status: 201 }
    },

    updateDatabase: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      holds(row, context)
      databaseOf(row, params.db)
      const patch = { databases: { [params.db]: withoutUndefined(body) } }
      return change(row, patch, context, 'database.update', query)
    },

    deleteDatabase: async ({ params, query }, context) => {
      const row = await find(params.id)
      holds(row, context)
      const type = row.spec.databases[params.db]?.type ?? (await leftOver(row, params.db, context.signal))
      if (type === undefined) throw new ProblemError('not_found', `There is no database "${params.db}".`)
      if (query.dryRun !== true && query.confirm !== params.db) {
        throw new ProblemError(
          'validation_failed',
          `Dropping a database deletes its data and needs ?confirm=${params.db}.`,
          {
            errors: [{ pointer: '?confirm', code: 'confirm', detail: `Type the database’s name: ${params.db}.` }],
          },
        )
      }
      return change(row, {}, context, 'database.delete', query, {
        drops: { name: params.db, type },
        purge: query.purge,
      })
    },
  }
}

function credentialHandlers(
  { store, reveal }: DatabaseDeps,
  { find, holds, change }: ProjectAnswers,
): Pick<DatabaseHandlers, 'getDatabaseCredentials' | 'rotateDatabaseCredentials'> {
  return {
    getDatabaseCredentials: async ({ params }, context) => {
      const row = await find(params.id)
      const { database, kind } = databaseOf(row, params.db)
      const notGiven = `The database "${params.db}" was not started yet; it gets its port and password then.`
      const fieldsOf = (given: Given) =>
        databaseFields(kind, { name: params.db, inside: database.inside }, given, notGiven)
      const fields = await onceGiven(row.id, fieldsOf, store, context.signal)
      const shown = await revealFields(fields, reveal)
      await store.transaction((tx) =>
        tx.audit.append(
          context.audit({ action: 'database.credentials.read', target: `${row.slug}/${params.db}`, project: row.id }),
        ),
      )
      return {
        status: 200,
        body: {
          host: String(shown.host),
          port: Number(shown.port),
          hostPort: Number(shown.hostPort),
          database: String(shown.database),
          username: String(shown.username),
          password: String(shown.password),
          url: String(shown.url),
        },
      }
    },

    rotateDatabaseCredentials: async ({ params, query }, context) => {
      const row = await find(params.id)
      holds(row, context)
      const { kind } = databaseOf(row, params.db)
      const secrets = kind.secrets.map(({ name, length }) => ({ name: databaseSecret(params.db, name), length }))
      const rotates = { workload: databaseWorkload(kind.name, params.db), pointer: `/databases/${params.db}`, secrets }
      return change(row, {}, context, 'database.credentials.rotate', query, { rotates })
    },
  }
}

function databaseOf(row: ProjectRow, name: string) {
  const database = Object.hasOwn(row.spec.databases, name) ? row.spec.databases[name] : undefined
  const kind = database === undefined ? undefined : databaseTypeOf(database.type)
  if (database === undefined || kind === undefined)
    throw new ProblemError('not_found', `There is no database "${name}".`)
  return { database, kind }
}

function withoutUndefined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}
