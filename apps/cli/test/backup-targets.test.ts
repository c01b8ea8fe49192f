import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BackupTarget } from '@stackquay/contract'
import { scratch, stq } from './run-stq.ts'
import { operation, standIn, step } from './stand-in.ts'

const backup = 'bak_01m7x1001nzn07vcmqy9nx'
/** Clears the screen, and renames the window. */
const nasty = '\x1b[2J\x1b]0;owned\x07'
const target: BackupTarget = {
  id: 'tgt_01m7x1001nzn07vcmqy9nx',
  name: `NAS${nasty}`,
  kind: 'sftp',
  place: 'sftp://ada@nas:22/srv',
  folder: null,
  s3: null,
  sftp: { host: 'nas', port: 22, user: 'ada', path: '/srv', hostKey: 'ssh-ed25519 SHA256:x' },
  copies: 2,
  createdAt: '2026-01-01T00:00:00.000Z',
  checkedAt: '2026-01-01T00:00:00.000Z',
}
const ended = operation({ state: 'succeeded', steps: [step('main', 'succeeded')], finishedAt: '2026-01-01T00:00:04Z' })

test('against a stand-in: targets are listed, and what others wrote steers no terminal', async () => {
  await using service = await standIn({ 'GET /backup-targets': () => ({ items: [target] }) })
  const { stdout, code } = await stq(['backup', 'target'], { url: service.url })
  assert.equal(code, 0)
  assert.match(stdout, /^TARGET +NAME +PLACE +COPIES +CHECKED\ntgt_\w+ +NAS +sftp:\/\/ada@nas:22\/srv +2 /)
  assert.doesNotMatch(stdout, /[\x00-\x08\x0b-\x1f]|owned/)
})

test('against a stand-in: a bucket is added with its secret from a file, and the passphrase is printed alone', async () => {
  await using folder = await scratch()
  await writeFile(join(folder.path, 'secret'), 'the secret\n')
  await using service = await standIn({
    'POST /backup-targets': () => ({ ...target, recoveryPassphrase: 'abcd-efgh', isNew: true }),
  })
  const argv = ['backup', 'target', 'add', 'NAS', '--s3', 'backups', '--access-key', 'KEY']
  const { stdout, stderr, code } = await stq([...argv, '--secret-key-file', join(folder.path, 'secret')], {
    url: service.url,
  })
  assert.deepEqual([code, stdout], [0, 'abcd-efgh\n'], stderr)
  assert.deepEqual(service.calls[0]!.body, {
    name: 'NAS',
    s3: { bucket: 'backups', accessKeyId: 'KEY', secretAccessKey: 'the secret' },
  })
  const asked = await stq(argv, { url: service.url })
  assert.equal(asked.code, 2)
  assert.match(asked.stderr, /--secret-key-file/)
  assert.equal((await stq(['backup', 'target', 'add', 'NAS'], { url: service.url })).code, 2)
  assert.equal((await stq([...argv, '--folder', '/mnt'], { url: service.url })).code, 2)
})

test('against a stand-in: a machine of an unknown host key is added only with that key as an option', async () => {
  await using folder = await scratch()
  await writeFile(join(folder.path, 'password'), 'sesame')
  await using service = await standIn({
    'POST /backup-targets': ({ body }, response) => {
      const { sftp } = body as { sftp: { hostKey?: string } }
      if (sftp.hostKey !== undefined) return { ...target, recoveryPassphrase: null, isNew: false }
      const problem = { code: 'validation_failed', status: 422, title: 'x', detail: 'It shows a key.' }
      response.writeHead(422, { 'content-type': 'application/problem+json' })
      response.end(JSON.stringify({ ...problem, hostKey: 'ssh-ed25519 SHA256:abc' }))
    },
  })
  const argv = ['backup', 'target', 'add', 'NAS', '--sftp', 'sftp://ada@nas:2222/srv/x']
  const login = ['--password-file', join(folder.path, 'password')]
  const refused = await stq([...argv, ...login], { url: service.url })
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /--host-key "ssh-ed25519 SHA256:abc"/)
  const added = await stq([...argv, ...login, '--host-key', 'ssh-ed25519 SHA256:abc'], { url: service.url })
  assert.equal(added.code, 0, added.stderr)
  assert.match(added.stderr, /There are backups on it already/)
  assert.deepEqual((service.calls.at(-1)!.body as { sftp: object }).sftp, {
    host: 'nas',
    port: 2222,
    user: 'ada',
    path: '/srv/x',
    hostKey: 'ssh-ed25519 SHA256:abc',
    password: 'sesame',
  })
})

test('against a stand-in: copy and fetch wait for their end; remove asks', async () => {
  await using service = await standIn({
    'GET /backup-targets': () => ({ items: [{ ...target, name: 'nas' }] }),
    [`POST /backups/${backup}/copies`]: () => operation(),
    [`POST /backup-targets/${target.id}/fetch`]: () => operation(),
    'GET /operations/op_1': () => ended,
    [`GET /backups/${backup}`]: () => ({ id: backup, project: { slug: 'shop' } }),
    [`DELETE /backup-targets/${target.id}`]: (_call, response) => void response.writeHead(204).end(),
  })
  const copied = await stq(['backup', 'copy', backup, 'nas'], { url: service.url })
  assert.equal(copied.code, 0, copied.stderr)
  assert.deepEqual(service.calls.find(({ method }) => method === 'POST')!.body, { target: target.id })
  const fetched = await stq(['backup', 'fetch', target.id, backup], { url: service.url })
  assert.deepEqual([fetched.code, fetched.stdout], [0, `${backup}\n`], fetched.stderr)
  assert.equal((await stq(['backup', 'target', 'remove', 'nas'], { url: service.url })).code, 2)
  assert.equal((await stq(['backup', 'target', 'remove', 'nas', '--yes'], { url: service.url })).code, 0)
  const unknown = await stq(['backup', 'copy', backup, 'nowhere'], { url: service.url })
  assert.match(unknown.stderr, /There is no backup target "nowhere"/)
})

test('against a stand-in: backups of the instance are copied and fetched by their id; a copy is deleted when that was confirmed', async () => {
  const own = 'ibk_01m7x1001nzn07vcmqy9nx'
  const item = { id: own, project: null, createdAt: '2026-01-01T00:00:00.000Z', sizeBytes: 5, here: false, note: null }
  await using service = await standIn({
    'GET /backup-targets': () => ({ items: [{ ...target, name: 'nas' }] }),
    [`POST /instance/backups/${own}/copies`]: () => operation(),
    [`POST /backup-targets/${target.id}/fetch-instance`]: () => operation(),
    [`GET /backup-targets/${target.id}/backups`]: () => ({ items: [item], unreadable: [] }),
    [`DELETE /backup-targets/${target.id}/backups/${own}`]: () => operation(),
    'GET /operations/op_1': () => ended,
  })
  const run = (...words: string[]) => stq(['backup', ...words], { url: service.url })
  assert.equal((await run('copy', own, 'nas')).code, 0)
  assert.deepEqual(service.calls.find(({ method }) => method === 'POST')!.body, { target: target.id })
  const fetched = await run('fetch', 'nas', own)
  assert.deepEqual([fetched.code, fetched.stdout], [0, `${own}\n`], fetched.stderr)
  assert.match((await run('target', 'backups', 'nas')).stdout, /ibk_\w+ +\(the instance\)/)
  assert.equal((await run('target', 'delete-backup', 'nas', own)).code, 2)
  assert.equal(service.calls.filter(({ method }) => method === 'DELETE').length, 0)
  assert.equal((await run('target', 'delete-backup', 'nas', own, '--yes')).code, 0)
  const deleted = service.calls.find(({ method }) => method === 'DELETE')!
  assert.equal(deleted.query.get('confirm'), own)
})
