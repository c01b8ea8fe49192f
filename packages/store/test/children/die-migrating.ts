/** Is killed in the middle of the second migration. */
import { type Kysely, sql } from 'kysely'
import { migrations } from '../../src/migrations/index.ts'
import { openStore } from '../../src/open.ts'

const [file = '', keyId = '', key = ''] = process.argv.slice(2)
const deadly = {
  name: 'deadly',
  up: async (db: Kysely<unknown>) => {
    await sql`create table half_done (id text)`.execute(db)
    await sql`insert into settings (name, value) values ('half', '1')`.execute(db)
    process.stdout.write('half\n')
    process.kill(process.pid, 'SIGKILL')
    await new Promise(() => {})
  },
}
await openStore({
  file,
  sealingKey: { id: keyId, key: Buffer.from(key, 'hex') },
  clock: { now: () => new Date() },
  migrations: [...migrations, deadly],
})
