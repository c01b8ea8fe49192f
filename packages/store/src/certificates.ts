import type { Reading, Writing } from './context.ts'
import { SecretError } from './errors.ts'
import { newId } from './ids.ts'
import type { CertificateOrigin, CertificateReader, CertificateRow, CertificateWriter } from './model/certificates.ts'
import type { CertificatesTable } from './schema-certificates.ts'
import { secretReader, secretWriter } from './secrets.ts'

/** Its key among the secrets of the instance, which a new secret key seals again. */
const keyName = (id: string) => `certificate/${id}`

export function certificateReader(reading: Reading): CertificateReader {
  const from = reading.db.selectFrom('certificates').selectAll()
  const secrets = secretReader(reading)
  return {
    all: async () => (await from.orderBy('id').execute()).map(certificateOf),
    find: async (id) => (await from.where('id', '=', id).execute()).map(certificateOf)[0] ?? null,
    key: async (id) => {
      const handle = await secrets.find(null, keyName(id))
      if (handle === null) throw new SecretError('missing', `The key of certificate ${id} is not here.`)
      return secrets.reveal(handle.secret)
    },
  }
}

export function certificateWriter(writing: Writing): CertificateWriter {
  const { db, now } = writing
  const secrets = secretWriter(writing)
  const remove = async (id: string) => {
    await secrets.delete(null, keyName(id))
    await db.deleteFrom('certificates').where('id', '=', id).execute()
  }
  return {
    put: async (given, key) => {
      const { source, subject } = given
      const same = db
        .selectFrom('certificates')
        .select('id')
        .where('source', '=', source)
        .where('subject', '=', subject)
      const before = await same.executeTakeFirst()
      if (before !== undefined) await remove(before.id)
      const id = newId('cert', new Date(now))
      const row: CertificatesTable = {
        id,
        source,
        subject,
        names: JSON.stringify(given.names),
        certificate: given.certificate,
        not_before: given.notBefore,
        not_after: given.notAfter,
        next_renewal: given.nextRenewal,
        last_failure: null,
        created_at: now,
      }
      await db.insertInto('certificates').values(row).execute()
      await secrets.put(null, keyName(id), key)
      return { id, replaced: before?.id ?? null }
    },
    fail: async (id, failure, nextRenewal) => {
      const last_failure = failure === null ? null : JSON.stringify(failure)
      const next = nextRenewal === undefined ? {} : { next_renewal: nextRenewal }
      await db
        .updateTable('certificates')
        .set({ last_failure, ...next })
        .where('id', '=', id)
        .execute()
    },
    delete: remove,
  }
}

function certificateOf(row: CertificatesTable): CertificateRow {
  return {
    id: row.id,
    source: row.source as CertificateOrigin,
    subject: row.subject,
    names: JSON.parse(row.names) as string[],
    certificate: row.certificate,
    notBefore: row.not_before,
    notAfter: row.not_after,
    nextRenewal: row.next_renewal,
    lastFailure: row.last_failure === null ? null : (JSON.parse(row.last_failure) as CertificateRow['lastFailure']),
    createdAt: row.created_at,
  }
}
