import type { Reading, Writing } from './context.ts'
import type { AcmeAttemptsRow, AcmeReader, AcmeWriter } from './model/acme.ts'
import type { AcmeAttemptsTable } from './schema-acme.ts'
import { secretReader, secretWriter } from './secrets.ts'

/** Its name among the secrets of the instance, which a new secret key seals again. */
const orderName = (subject: string) => `acme/order/${subject}`

export function acmeReader(reading: Reading): AcmeReader {
  const from = reading.db.selectFrom('acme_attempts').selectAll()
  const secrets = secretReader(reading)
  return {
    all: async () => (await from.orderBy('subject').execute()).map(attemptsOf),
    find: async (subject) => (await from.where('subject', '=', subject).execute()).map(attemptsOf)[0] ?? null,
    order: async (subject) => {
      const handle = await secrets.find(null, orderName(subject))
      return handle === null ? null : secrets.reveal(handle.secret)
    },
  }
}

export function acmeWriter(writing: Writing): AcmeWriter {
  const { db } = writing
  const secrets = secretWriter(writing)
  const putOrder = async (subject: string, order: string | null) => {
    if (order === null) await secrets.delete(null, orderName(subject))
    else await secrets.put(null, orderName(subject), order)
  }
  return {
    put: async ({ subject, attempts, chance, renewal }) => {
      const values = {
        attempts: JSON.stringify(attempts),
        chance,
        renewal: renewal === null ? null : JSON.stringify(renewal),
      }
      await db
        .insertInto('acme_attempts')
        .values({ subject, ...values })
        .onConflict((conflict) => conflict.column('subject').doUpdateSet(values))
        .execute()
    },
    putOrder,
    delete: async (subject) => {
      await putOrder(subject, null)
      await db.deleteFrom('acme_attempts').where('subject', '=', subject).execute()
    },
  }
}

function attemptsOf({ subject, attempts, chance, renewal }: AcmeAttemptsTable): AcmeAttemptsRow {
  return {
    subject,
    attempts: JSON.parse(attempts) as AcmeAttemptsRow['attempts'],
    chance,
    renewal: renewal === null ? null : (JSON.parse(renewal) as AcmeAttemptsRow['renewal']),
  }
}
