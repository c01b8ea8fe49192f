import type { Reading, Writing } from './context.ts'
import { TakenError } from './errors.ts'
import type { SshKeyReader, SshKeyRow, SshKeyWriter } from './model/ssh-keys.ts'
import type { SshKeysTable } from './schema-access.ts'

export function sshKeyReader({ db }: Reading): SshKeyReader {
  const from = db.selectFrom('ssh_keys').selectAll()
  return {
    find: async (id) => (await from.where('id', '=', id).execute()).map(keyOf)[0] ?? null,
    byFingerprint: async (fingerprint) =>
      (await from.where('fingerprint', '=', fingerprint).execute()).map(keyOf)[0] ?? null,
    of: async (user) => (await from.where('user', '=', user).orderBy('id').execute()).map(keyOf),
  }
}

export function sshKeyWriter({ db, now }: Writing): SshKeyWriter {
  return {
    insert: async ({ id, user, name, type, publicKey, fingerprint }) => {
      const held = db.selectFrom('ssh_keys').select('id').where('fingerprint', '=', fingerprint)
      const holder = await held.executeTakeFirst()
      if (holder !== undefined) throw new TakenError('ssh key', holder.id)
      const row: SshKeysTable = {
        id,
        user,
        name,
        type,
        public_key: publicKey,
        fingerprint,
        created_at: now,
        last_used_at: null,
      }
      await db.insertInto('ssh_keys').values(row).execute()
      return keyOf(row)
    },
    touch: async (id) => {
      await db.updateTable('ssh_keys').set({ last_used_at: now }).where('id', '=', id).execute()
    },
    delete: async (id) => {
      await db.deleteFrom('ssh_keys').where('id', '=', id).execute()
    },
  }
}

function keyOf(row: SshKeysTable): SshKeyRow {
  return {
    id: row.id,
    user: row.user,
    name: row.name,
    type: row.type,
    publicKey: row.public_key,
    fingerprint: row.fingerprint,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }
}
