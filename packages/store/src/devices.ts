import type { Reading, Writing } from './context.ts'
import type { DeviceReader, DeviceRow, DeviceWriter } from './model/devices.ts'
import type { DevicesTable } from './schema-access.ts'

/** A person uses a handful of browsers. A script that logs in anew each time must not fill the table. */
export const devicesPerUser = 50

export function deviceReader({ db }: Reading): DeviceReader {
  const from = db.selectFrom('devices').selectAll()
  return {
    byHash: async (hash) => (await from.where('hash', '=', hash).execute()).map(deviceOf)[0] ?? null,
    of: async (user) => (await from.where('user', '=', user).orderBy('id').execute()).map(deviceOf),
  }
}

export function deviceWriter({ db, now }: Writing): DeviceWriter {
  return {
    insert: async ({ id, hash, user, ip, userAgent }) => {
      const row: DevicesTable = { id, hash, user, ip, user_agent: userAgent, created_at: now, last_used_at: now }
      await db.insertInto('devices').values(row).execute()
      const kept = db
        .selectFrom('devices')
        .select('id')
        .where('user', '=', user)
        .orderBy('last_used_at', 'desc')
        .orderBy('id', 'desc')
        .limit(devicesPerUser)
      await db.deleteFrom('devices').where('user', '=', user).where('id', 'not in', kept).execute()
      return deviceOf(row)
    },
    touch: async (id) => {
      await db.updateTable('devices').set({ last_used_at: now }).where('id', '=', id).execute()
    },
    delete: async (id) => {
      await db.deleteFrom('devices').where('id', '=', id).execute()
    },
    deleteOfUser: async (user) => {
      const gone = await db.deleteFrom('devices').where('user', '=', user).returning('id').execute()
      return gone.length
    },
  }
}

function deviceOf(row: DevicesTable): DeviceRow {
  return {
    id: row.id,
    user: row.user,
    ip: row.ip,
    userAgent: row.user_agent,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }
}
