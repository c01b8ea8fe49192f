import assert from 'node:assert/strict'
import { chmod, lstat, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { makeGivenFolder } from '@stackquay/engines'
import { race } from './support/racers.ts'
import { startService } from './support/service.ts'

const uid = 60_202
const account = process.getuid?.() === 0 ? { uid, gid: uid } : null

test('folders that were left behind never keep the service from starting, also while a program fills them', async (t) => {
  const service = await startService()
  t.after(service.close)
  await service.kill()
  const outside = join(service.home, 'outside')
  await mkdir(outside, { mode: 0o755 })
  await writeFile(join(outside, 'secret'), 'CANARY')
  const left = ['results/run_gone', 'projects/.making-prj_gone', 'tools/prj_gone', 'tools/cache'].map((path) =>
    join(service.home, path),
  )
  for (const above of ['results', 'projects', 'tools']) {
    await mkdir(join(service.home, above), { recursive: true })
    await chmod(join(service.home, above), 0o711)
  }
  const busy: AsyncDisposable[] = []
  try {
    for (const path of left) {
      await makeGivenFolder(path, account, 0o700)
      busy.push(await race(path, outside, uid, 1))
    }
    await service.start()
    const { slug } = await service.client.call('createProject', {
      body: { name: 'Still works', template: 'static' },
      query: { wait: 60 },
    })
    assert.equal((await service.get(slug)).status, 200)
  } finally {
    for (const one of busy) await one[Symbol.asyncDispose]()
  }
  assert.equal((await lstat(join(outside, 'secret'))).size, 6)

  await service.stop()
  await service.start()
  const late = AbortSignal.timeout(20_000)
  for (const path of left)
    while ((await lstat(path).catch(() => null)) !== null) await delay(50, undefined, { signal: late })
})
