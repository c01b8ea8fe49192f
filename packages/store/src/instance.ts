import type { Reading, Writing } from './context.ts'
import type { InstanceReader, InstanceWriter } from './model/instance.ts'

export function instanceReader({ db }: Reading): InstanceReader {
  return {
    get: async (name) => {
      const row = await db.selectFrom('instance').select('value').where('name', '=', name).executeTakeFirst()
      return row?.value ?? null
    },
  }
}

export function instanceWriter({ db }: Writing): InstanceWriter {
  return {
    set: async (name, value) => {
      await db
        .insertInto('instance')
        .values({ name, value })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
        .execute()
    },
  }
}
