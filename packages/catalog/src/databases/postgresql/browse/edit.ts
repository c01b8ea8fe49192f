import type { Edit, EditOutcome } from '../../../browse/driver.ts'
import type { Session } from './connect.ts'

/** All of them or none. */
export async function edit(
  session: Session,
  edits: AsyncIterable<Edit> | Iterable<Edit>,
  timeLimitMs: number,
  signal: AbortSignal,
): Promise<EditOutcome> {
  const { client, guard } = session
  return session.within(signal, timeLimitMs, async () => {
    await client.query(`BEGIN; SET LOCAL statement_timeout = ${timeLimitMs}`)
    let index = 0
    for await (const { text, values, expects } of edits) {
      const { rowCount } = await client.query(text, [...values])
      guard.taken()
      if (rowCount !== expects) {
        await client.query('ROLLBACK')
        return { failed: { index, touched: rowCount ?? 0 } }
      }
      index++
    }
    await client.query('COMMIT')
    return { failed: null }
  })
}
