/** A process to be killed: makes one backup. */
import { randomBytes } from 'node:crypto'
import { openArchiveFolder } from '../src/index.ts'
import { fields, never, part } from './temp-archives.ts'

const [root, id, zstd] = process.argv.slice(2) as [string, string, string]
const archives = openArchiveFolder(root, zstd === 'program' ? {} : { zstd: null })
const writer = await archives.create(id)
process.stdout.write('begun\n')
for (const name of ['files', 'database:main', 'service:redis']) {
  async function* content() {
    for (let chunk = 0; chunk < 20; chunk += 1) yield randomBytes(20_000)
  }
  await writer.add(part(name), content(), { signal: never })
}
await writer.addSealed(part('settings'), randomBytes(500))
await writer.finish(fields)
