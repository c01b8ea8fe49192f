import { createInterface } from 'node:readline'
import { Client } from 'pg'

/**
 * Keeps the cluster that the environment names in backup mode while its files are copied: prints `ready`, waits for a line, prints the
 * files that belong into the copy as one line of JSON, and keeps the log that the copy needs until its input ends.
 */
export async function hold(input: NodeJS.ReadableStream, print: (line: string) => void): Promise<void> {
  const lines = createInterface({ input })[Symbol.asyncIterator]()
  const client = new Client()
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('SET statement_timeout = 0; SET idle_session_timeout = 0')
    const { rows: spaces } = await client.query(
      `SELECT 1 FROM pg_catalog.pg_tablespace WHERE spcname NOT IN ('pg_default', 'pg_global')`,
    )
    if (spaces.length > 0)
      throw new Error(
        'The cluster has tablespaces outside its folder, which a copy cannot hold. Move what is in them to pg_default, then drop them.',
      )
    // Gone with this connection, like the backup that is not ended.
    await client.query('SELECT pg_catalog.pg_create_physical_replication_slot($1, true, true)', [
      `stackquay_copy_${process.pid}`,
    ])
    await client.query(`SELECT pg_catalog.pg_backup_start('Stackquay', true)`)
    print('ready')
    if ((await lines.next()).done === true) throw new Error('The copy was given up.')
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_catalog.pg_backup_stop(false)')
    print(JSON.stringify({ 'cluster/backup_label': rows[0]?.labelfile ?? '' }))
    while ((await lines.next()).done !== true) {
      // Until its end.
    }
  } finally {
    await client.end()
  }
}
