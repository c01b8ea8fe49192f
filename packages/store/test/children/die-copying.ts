/** Is killed before, or just after, the copy that is made before a migration. */
import { join } from 'node:path'
import { openStore } from '../../src/open.ts'

const [file = '', keyId = '', key = '', folder = '', moment = ''] = process.argv.slice(2)
await openStore({
  file,
  sealingKey: { id: keyId, key: Buffer.from(key, 'hex') },
  clock: { now: () => new Date() },
  beforeMigration: async (old) => {
    const copying = old.copyTo(join(folder, `${moment}.db`))
    if (moment === 'copied') await copying
    process.kill(process.pid, 'SIGKILL')
    await copying
    await new Promise(() => {})
  },
})
