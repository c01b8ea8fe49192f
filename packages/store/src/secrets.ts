import { Secret } from '@stackquay/contract'
import type { Kysely } from 'kysely'
import type { Reading, Writing } from './context.ts'
import { SecretError } from './errors.ts'
import { newId } from './ids.ts'
import type { Keyring } from './keyring.ts'
import type { SecretHandle, SecretReader, SecretWriter } from './model/secrets.ts'
import { given } from './prepared.ts'
import type { Schema, SecretsTable } from './schema.ts'
import { type SealingKey, seal, unseal } from './sealing.ts'

export function secretReader({ db, prepare, keys }: Reading): SecretReader {
  const from = db.selectFrom('secrets')
  const byId = prepare(from.selectAll().where('id', '=', given<string>('id')))
  const older = prepare(
    db
      .selectFrom('secret_versions')
      .selectAll()
      .where('secret', '=', given<string>('secret'))
      .where('version', '=', given<number>('version')),
  )
  const handles = from.select(['id as secret', 'version'])

  return {
    reveal: async (secret, version) => {
      const current = byId({ id: secret })[0]
      const isAnother = version !== undefined && current?.version !== version
      const kept = isAnother ? older({ secret, version }).map((row) => ({ ...row, id: row.secret }))[0] : undefined
      const row = kept ?? current
      if (row === undefined) throw new SecretError('missing', `There is no secret ${secret}.`)
      return new Secret(open(keys, row))
    },
    find: async (project, name) => {
      const row = await handles
        .where('project', project === null ? 'is' : '=', project)
        .where('name', '=', name)
        .executeTakeFirst()
      return row === undefined ? null : { secret: row.secret, version: row.version }
    },
    of: async (project) => {
      const rows = await handles.select('name').where('project', '=', project).orderBy('name').execute()
      return byName(rows)
    },
    projectsWith: async (name) => {
      const rows = await from.select('project').where('project', 'is not', null).where('name', '=', name).execute()
      return new Set(rows.flatMap(({ project }) => project ?? []))
    },
    ofInstance: async (prefix) => {
      const rows = await handles.select('name').where('project', 'is', null).orderBy('name').execute()
      return byName(rows.filter(({ name }) => name.startsWith(prefix)))
    },
  }
}

function byName(rows: readonly (SecretHandle & { readonly name: string })[]) {
  return Object.fromEntries(rows.map(({ name, secret, version }) => [name, { secret, version }]))
}

export function secretWriter({ db, key, now }: Writing): SecretWriter {
  const held = (project: string | null, name: string) =>
    db
      .selectFrom('secrets')
      .selectAll()
      .where('project', project === null ? 'is' : '=', project)
      .where('name', '=', name)
      .executeTakeFirst()

  const remove = (project: string | null, name: string) =>
    db
      .deleteFrom('secrets')
      .where('project', project === null ? 'is' : '=', project)
      .where('name', '=', name)
      .execute()
  /** What runs was started with it, and an operation that has begun still needs it. */
  const keepVersion = async ({ id: secret, project, version, key_id, sealed }: SecretsTable) => {
    if (project === null) return
    await db.insertInto('secret_versions').values({ secret, project, version, key_id, sealed }).execute()
  }

  return {
    put: async (project, name, text) => {
      const before = await held(project, name)
      if (before !== undefined && before.key_id === key.id && unseal(key, before.sealed, about(before)) === text) {
        return { secret: before.id, version: before.version }
      }
      const place = { id: before?.id ?? newId('sec', new Date(now)), version: (before?.version ?? 0) + 1, project }
      const written = { version: place.version, key_id: key.id, sealed: seal(key, text, about(place)), updated_at: now }
      if (before !== undefined) await keepVersion(before)
      if (before === undefined) {
        await db
          .insertInto('secrets')
          .values({ ...written, id: place.id, project, name, created_at: now })
          .execute()
      } else {
        await db.updateTable('secrets').set(written).where('id', '=', place.id).execute()
      }
      return { secret: place.id, version: place.version }
    },
    delete: async (project, name) => {
      const before = await held(project, name)
      if (before !== undefined) await db.deleteFrom('secret_versions').where('secret', '=', before.id).execute()
      await remove(project, name)
    },
    drop: async (project, name) => {
      const before = await held(project, name)
      if (before !== undefined) await keepVersion(before)
      await remove(project, name)
    },
  }
}

/** Seals all that the old key opens with the next. The texts stay what they are, and so do their versions. */
export async function resealSecrets(
  db: Kysely<Schema>,
  from: SealingKey,
  next: SealingKey,
): Promise<{ resealed: number; unreadable: number }> {
  let resealed = 0
  let unreadable = 0
  const again = (row: Sealed): string | null => {
    const text = row.key_id === from.id ? unseal(from, row.sealed, about(row)) : null
    if (text === null) unreadable += 1
    else resealed += 1
    return text === null ? null : seal(next, text, about(row))
  }
  let last = ''
  for (;;) {
    const rows = await db.selectFrom('secrets').selectAll().where('id', '>', last).orderBy('id').limit(200).execute()
    for (const row of rows) {
      last = row.id
      const sealed = again(row)
      if (sealed === null) continue
      await db.updateTable('secrets').set({ key_id: next.id, sealed }).where('id', '=', row.id).execute()
    }
    if (rows.length === 0) break
  }
  for (const row of await db.selectFrom('trash_secrets').selectAll().execute()) {
    const sealed = again(row)
    if (sealed === null) continue
    await db.updateTable('trash_secrets').set({ key_id: next.id, sealed }).where('id', '=', row.id).execute()
  }
  // Few: only of projects that have settings which were not carried out yet.
  for (const row of await db.selectFrom('secret_versions').selectAll().execute()) {
    const sealed = again({ ...row, id: row.secret })
    if (sealed === null) continue
    await db
      .updateTable('secret_versions')
      .set({ key_id: next.id, sealed })
      .where('secret', '=', row.secret)
      .where('version', '=', row.version)
      .execute()
  }
  return { resealed, unreadable }
}

type Sealed = Pick<SecretsTable, 'id' | 'project' | 'version' | 'key_id' | 'sealed'>

function open(keys: Keyring, row: Sealed): string {
  const key = keys.find(row.key_id)
  if (key === undefined) {
    throw new SecretError(
      'other_key',
      `Secret ${row.id} was sealed with key ${row.key_id}; this is key ${keys.current.id}.`,
    )
  }
  const text = unseal(key, row.sealed, about(row))
  if (text === null) {
    throw new SecretError('damaged', `Secret ${row.id} was changed outside of the service. Set its value again.`)
  }
  return text
}

/** What a sealed text is bound to: swapping rows, versions or projects in the file makes it unreadable. */
function about({ id, version, project }: Pick<SecretsTable, 'id' | 'version' | 'project'>): readonly unknown[] {
  return ['secret', id, version, project]
}
