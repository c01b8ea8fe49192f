import type { Reading, Writing } from './context.ts'
import type { SettingReader, SettingWriter } from './model/settings.ts'

export function settingReader({ db }: Reading): SettingReader {
  return {
    get: async <T>(name: string) => {
      const row = await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst()
      return row === undefined ? null : (JSON.parse(row.value) as T)
    },
  }
}

export function settingWriter({ db }: Writing): SettingWriter {
  return {
    set: async (name, value) => {
      const text = JSON.stringify(value ?? null)
      await db
        .insertInto('settings')
        .values({ name, value: text })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: text }))
        .execute()
    },
  }
}
