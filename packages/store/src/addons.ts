import type { AddonDefinition } from '@stackquay/contract'
import type { Reading, Writing } from './context.ts'
import type { AddonReader, AddonRow, AddonWriter } from './model/addons.ts'
import type { AddonsTable } from './schema.ts'

export function addonReader({ db }: Reading): AddonReader {
  const from = db.selectFrom('addons').selectAll()
  return {
    all: async () => (await from.orderBy('name').execute()).map(rowOf),
    find: async (name) => {
      const row = await from.where('name', '=', name).executeTakeFirst()
      return row === undefined ? null : rowOf(row)
    },
  }
}

export function addonWriter({ db, now }: Writing): AddonWriter {
  return {
    put: async ({ name, yaml, definition }) => {
      const changed = { yaml, definition: JSON.stringify(definition), updated_at: now }
      await db
        .insertInto('addons')
        .values({ name, ...changed, created_at: now })
        .onConflict((conflict) => conflict.column('name').doUpdateSet(changed))
        .execute()
    },
    delete: async (name) => {
      await db.deleteFrom('addons').where('name', '=', name).execute()
    },
  }
}

function rowOf({ name, yaml, definition, created_at: createdAt, updated_at: updatedAt }: AddonsTable): AddonRow {
  return { name, yaml, definition: JSON.parse(definition) as AddonDefinition, createdAt, updatedAt }
}
