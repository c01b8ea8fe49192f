import { Client } from 'pg'
import { clusterSql, databaseSql, databasesSql } from './contents-sql.ts'

/** One line of JSON: what is in the cluster that the environment names. */
export async function contents(): Promise<string> {
  const [cluster, names] = await withClient({}, async (client) => [
    JSON.stringify((await client.query(clusterSql)).rows[0].jsonb_build_object),
    (await client.query<{ datname: string }>(databasesSql)).rows.map(({ datname }) => datname),
  ])
  const databases: string[] = []
  for (const database of names) databases.push(await withClient({ database }, entryOf))
  return `{"cluster":${cluster},"databases":{${databases.join(',')}}}\n`
}

/** Of several statements each has a result; the one with a row has the text. */
async function entryOf(client: Client): Promise<string> {
  const results = (await client.query({ text: databaseSql, rowMode: 'array' })) as unknown as readonly {
    readonly rows: readonly (readonly [string])[]
  }[]
  return results.flatMap(({ rows }) => rows.map(([text]) => text)).join('')
}

async function withClient<T>(where: { readonly database?: string }, act: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(where)
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}
