import type { Reading, Writing } from './context.ts'
import type { SettingQuestions, Transaction } from './store.ts'

export function settingQuestions({ db }: Reading): SettingQuestions {
  return {
    get: async <T>(name: string) => {
      const row = await db.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst()
      return row === undefined ? null : (JSON.parse(row.value) as T)
    },
  }
}

export function settingChanges({ db }: Writing): Transaction['settings'] {
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
