/** Opens a database as an unprivileged user and prints why it could not. */
import { openStore } from '../../src/index.ts'

const [file = ''] = process.argv.slice(2)
process.setgid?.(65534)
process.setuid?.(65534)
try {
  await openStore({ file, sealingKey: { id: 'key', key: Buffer.alloc(32) }, clock: { now: () => new Date() } })
} catch (error) {
  process.stdout.write(`${(error as Error).name} ${(error as Error).message}\n`)
}
