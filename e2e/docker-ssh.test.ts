import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { freePort, makeKey } from '@stackquay/testkit'
import { type DockerService, lines, startDockerService } from './support/docker-service.ts'
import { addSshKey, type SshClient, sshClient } from './support/ssh-client.ts'

let service: DockerService
let client: SshClient
let work: string

before(async () => {
  const port = await freePort()
  service = await startDockerService(['redis'], { env: { STACKQUAY_SSH: `127.0.0.1:${port}` } })
  const body: object = { name: 'Shop', node: { version: lines.node, command: 'sleep 100000' }, redis: { version: lines.redis } }
  const made = await service.client.call('createProject', { body: body as never, query: { wait: 170 } })
  assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation, null, 2))
  work = await mkdtemp(join(tmpdir(), 'stackquay-docker-ssh-'))
  await makeKey(join(work, 'key'), 'ed25519')
  client = sshClient(port, join(work, 'key'), work)
  await addSshKey(service, join(work, 'key'))
})
after(async () => {
  await service?.close()
  if (work !== undefined) await rm(work, { recursive: true, force: true })
})

it('a project in containers has commands, shells, files and ports by SSH', { timeout: 240_000 }, async () => {
  const ran = await client.ssh('shop', 'test -f /.dockerenv && node --version; echo err >&2; exit 7')
  assert.equal(ran.code, 7, ran.err)
  assert.match(ran.out, /^v\d+/)
  assert.match(ran.err, /err/)
  const shell = await client.ssh('shop', 'tty; exit 3', ['-tt'])
  assert.equal(shell.code, 3, shell.err)
  assert.match(shell.out, /\/dev\/pts\/\d+/)
  await writeFile(join(work, 'near'), 'from near\n')
  const files = await client.sftp('shop', [`put ${join(work, 'near')} far`, `get far ${join(work, 'back')}`])
  assert.equal(files.code, 0, files.err)
  assert.equal(await readFile(join(work, 'back'), 'utf8'), 'from near\n')
  assert.equal((await client.ssh('shop', 'cat far')).out, 'from near\n')
  const through = client.start('ssh', [...client.options, '-W', 'redis:6379', 'shop@127.0.0.1'])
  through.stdin!.write('PING\r\n')
  const [answer] = await once(through.stdout!, 'data')
  // With a password or without: Redis is who answers.
  assert.match(String(answer), /PONG|NOAUTH/)
  through.kill()
  const elsewhere = await client.run('ssh', [...client.options, '-W', 'localhost:22', 'shop@127.0.0.1'])
  assert.equal(elsewhere.out, '')
  assert.notEqual(elsewhere.code, 0)
})
