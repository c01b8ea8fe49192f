import { Client } from 'pg'
import { markSql } from './mark-sql.ts'

/** One line of JSON: the piece of the log that a transaction of this moment is in, which is finished. */
export async function mark(): Promise<string> {
  const client = new Client()
  await client.connect()
  try {
    // One by one: together they would be one transaction.
    const answers: unknown[] = []
    for (const statement of markSql.split(';\n').filter((text) => text !== ''))
      for (const row of (await client.query<Record<string, unknown>>(statement)).rows)
        answers.push(row.json_build_object)
    return `${JSON.stringify(answers.find((answer) => answer !== undefined))}\n`
  } finally {
    await client.end()
  }
}
