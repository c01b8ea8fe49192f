import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { BackupTarget, OperationRecord } from '@stackquay/contract'
import { HomeInUseError, lockHome } from '../src/instance-lock.ts'
import { openTestApp } from './projects-support.ts'

const main = fileURLToPath(import.meta.resolve('@stackquay/server/main'))

async function emptyFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-locked-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The service as it is started on a machine, over a home. */
async function start(home: string): Promise<{ readonly code: number | null; readonly said: string }> {
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env.PATH,
      STACKQUAY_HOME: home,
      STACKQUAY_LISTEN: '127.0.0.1:0',
      STACKQUAY_PROXY_HTTP: 'off',
      STACKQUAY_SSH: 'off',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  const [code] = await once(child, 'exit')
  return { code, said }
}

/** Names, sizes, times and contents of all that is there, but for what the first one writes itself. */
async function printOf(folder: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const name of await readdir(folder, { recursive: true })) {
    if (/^(stackquay\.db|audit\.checkpoint)/.test(name)) continue
    const path = join(folder, name)
    const { mode, uid, size, mtimeMs } = await lstat(path)
    // Read here, in the process that holds it, the lock would be let go of.
    const isFile = (await lstat(path)).isFile() && name !== 'server.lock'
    const content = isFile
      ? createHash('sha256')
          .update(await readFile(path))
          .digest('hex')
      : ''
    found.push([name, mode, uid, size, mtimeMs, content].join(' '))
  }
  return found.sort()
}

test('a second service over one home says so and touches nothing of it: backups, schedules and targets are the first one’s', {
  timeout: 60_000,
}, async (t) => {
  const offsite = await emptyFolder(t)
  const app = await openTestApp(t)
  const { body: target } = await app.ask<BackupTarget>('POST', '/backup-targets', {
    name: 'Offsite',
    folder: { path: offsite },
  })
  const { body: made } = await app.ask<{ id: string }>('POST', '/instance/backups')
  // Due each minute: a second scheduler would make backups as well.
  const schedule = { cron: '* * * * *', targets: [target.id] }
  assert.equal((await app.ask('PUT', '/instance/backup-schedule', { ...schedule, cron: '0 0 1 1 *' })).status, 200)
  // What a killed attempt leaves looks so: the second must not sweep what the first one writes.
  await mkdir(join(app.folder, 'backups', '.bak_0123456789.new'), { recursive: true })
  await mkdir(join(app.folder, 'instance-backups', '.ibk_0123456789.new'), { recursive: true })
  const before = [await printOf(app.folder), await printOf(offsite)]

  const { code, said } = await start(app.folder)
  assert.equal(code, 1, said)
  assert.equal(
    said.trim(),
    `Another Stackquay runs on ${app.folder}. Stop it, or set STACKQUAY_HOME to another folder.`,
  )
  assert.deepEqual([await printOf(app.folder), await printOf(offsite)], before)
  const { body } = await app.ask<{ items: OperationRecord[] }>('GET', '/operations?limit=5')
  assert.deepEqual(body.items, [])
  const copied = await app.ask('POST', `/instance/backups/${made.id}/copies?wait=60`, { target: target.id })
  assert.equal(copied.status, 200)
})

test('of several that start at one moment on what a dead one left, one gets the home', {
  timeout: 120_000,
}, async (t) => {
  const home = await emptyFolder(t)
  const holder = `
    import { lockHome } from ${JSON.stringify(import.meta.resolve('../src/instance-lock.ts'))}
    // Until it is killed.
    setInterval(() => {}, 1000)
    process.send('ready')
    process.once('message', () => lockHome(${JSON.stringify(home)}).then(
      () => process.send('held'),
      (error) => process.send(error.name),
    ))`
  for (let round = 0; round < 3; round += 1) {
    const children: ChildProcess[] = []
    for (let at = 0; at < 4; at += 1) {
      const argv = ['--input-type=module', '--eval', holder]
      children.push(spawn(process.execPath, argv, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }))
    }
    try {
      await Promise.all(children.map((child) => once(child, 'message')))
      const answers = Promise.all(children.map(async (child) => (await once(child, 'message'))[0]))
      for (const child of children) child.send('go')
      assert.deepEqual((await answers).sort(), ['HomeInUseError', 'HomeInUseError', 'HomeInUseError', 'held'])
    } finally {
      // The hard way: its socket stays, and the next round begins with it.
      await Promise.all(
        children.map((child) => {
          const ended = once(child, 'exit')
          child.kill('SIGKILL')
          return ended
        }),
      )
    }
  }
  const release = await lockHome(home)
  await assert.rejects(lockHome(home), HomeInUseError)
  await release()
  await (await lockHome(home))()
})
