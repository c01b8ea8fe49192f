import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { rounds } from '@stackquay/testkit/rounds'
import { openArchiveFolder } from '../src/index.ts'
import { temporaryFolder, whole } from './temp-archives.ts'

const program = fileURLToPath(new URL('make-backup.ts', import.meta.url))

test('killed at any moment, a backup is there whole or not at all, and the next attempt makes it', async (t) => {
  const root = join(temporaryFolder(t), 'backups')
  const archives = openArchiveFolder(root)
  const counts = { whole: 0, none: 0 }
  const longest = await make(root, 'bak_zzzzzzzzzz', null)
  for (let round = 0; round < rounds(8, 60); round += 1) {
    const id = `bak_${String(round).padStart(10, '0')}`
    await make(root, id, round === 0 ? 0 : randomInt(Math.ceil(longest * 1.3)), round % 2 === 0 ? 'program' : 'zlib')
    const made = (await archives.list()).some((manifest) => manifest.id === id)
    counts[made ? 'whole' : 'none'] += 1
    if (made) {
      await archives.check(id)
      assert.equal((await whole(archives.open(id, 'service:redis'))).length, 400_000)
    } else if (round % 4 < 2) {
      const left = readdirSync(root).filter((name) => name.startsWith('.'))
      assert.deepEqual(await archives.sweep(), left)
    } else {
      await make(root, id, null)
      await archives.check(id)
    }
    await archives.sweep()
    assert.ok(readdirSync(root).every((name) => name.startsWith('bak_')))
  }
  t.diagnostic(`${counts.whole} whole, ${counts.none} not there`)
  assert.ok(counts.none > 0)
})

/** Makes a backup, killed so many milliseconds after it began; null: not at all. Answers how long it took. */
async function make(root: string, id: string, killAfter: number | null, zstd = 'program'): Promise<number> {
  const child = spawn(process.execPath, [program, root, id, zstd], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  const begun = Date.now()
  if (killAfter === null) assert.deepEqual(await ended, [0, null])
  else {
    await Promise.race([sleep(killAfter), ended])
    child.kill('SIGKILL')
    await ended
  }
  return Date.now() - begun
}
