import assert from 'node:assert/strict'
import { type ChildProcess, execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { freePort, makeKey } from '@stackquay/testkit'
import { isSoak } from '@stackquay/testkit/rounds'
import { type Service, startService, until } from './support/service.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'
import { addSshKey, type Session, type SshClient, sessionOf, sshClient } from './support/ssh-client.ts'

const execute = promisify(execFile)
const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe('SSH with the programs of OpenSSH', { timeout: 900_000 }, () => {
  let service: Service
  let root: SourceRoot
  let folder: string
  let work: string
  let port: number
  let client: SshClient
  let session: Session

  before(async () => {
    port = await freePort()
    root = await makeSourceRoot()
    work = await mkdtemp(join(tmpdir(), 'stackquay-ssh-'))
    service = await startService({ roots: root.path, env: { STACKQUAY_SSH: `127.0.0.1:${port}` } })
    folder = await root.folder('shop', { 'index.html': 'hello\n', 'a b.txt': 'spaces\n' })
    for (const [name, path] of [
      ['Shop', folder],
      ['Other', await root.folder('other', { 'index.html': 'other\n' })],
    ] as const) {
      const settings: object = { static: {} }
      const query = { wait: 60 }
      await service.client.call('createProject', { body: { ...settings, name, path, start: name === 'Other' }, query })
    }
    await makeKey(join(work, 'key'), 'ed25519')
    client = sshClient(port, join(work, 'key'), work)
    session = await sessionOf(service)
    await addSshKey(service, join(work, 'key'))
  })
  after(async () => {
    await service?.close()
    await root?.remove()
    if (work !== undefined) await rm(work, { recursive: true, force: true })
  })

  const audit = async (action: string) => {
    const { items } = await service.client.call('listAudit', { query: { action, limit: 50 } })
    return items
  }

  it('shows the host key that clients see, and commands that work as they stand', async () => {
    const ssh = await service.client.call('getProjectSsh', { params: { id: 'shop' } })
    assert.equal(ssh.listening, true)
    assert.deepEqual([ssh.host, ssh.port, ssh.user], ['127.0.0.1', port, 'shop'])
    const { stdout } = await execute('ssh-keyscan', ['-p', String(port), '127.0.0.1'])
    assert.ok(stdout.includes(ssh.hostKey!.knownHosts), stdout)
    await writeFile(join(work, 'seen.pub'), ssh.hostKey!.knownHosts.split(' ').slice(1).join(' '))
    const printed = await execute('ssh-keygen', ['-lf', join(work, 'seen.pub')])
    assert.ok(printed.stdout.includes(ssh.hostKey!.fingerprint))
    const shown = ssh.commands.find(({ name }) => name === 'command')!.command
    const line = shown.replace(/^ssh /, `ssh ${client.options.join(' ')} `)
    const { stdout: listed } = await execute('sh', ['-c', line])
    assert.match(listed, /index\.html/)
  })

  it('runs commands as the user of the project, with exit codes, both outputs and bytes as they are', async () => {
    const { code, out, err } = await client.ssh('shop', 'id -u; pwd; echo err >&2; exit 7')
    const [uid, pwd] = out.split('\n')
    assert.equal(code, 7)
    assert.notEqual(uid, '0')
    assert.equal(pwd, folder)
    assert.equal(err, 'err\n')
    const bytes = randomBytes(3_000_000)
    await writeFile(join(work, 'bytes'), bytes)
    const there = await execute('sh', [
      '-c',
      `ssh ${client.options.join(' ')} shop@127.0.0.1 'cat | sha256sum' < ${work}/bytes`,
    ])
    assert.equal(there.stdout.slice(0, 64), sha(bytes))
    const lines = await client.run('ssh', [...client.options, '-T', 'shop@127.0.0.1'], 'echo one; echo two\n')
    assert.equal(lines.out, 'one\ntwo\n')
    const killed = await client.ssh('shop', 'kill -TERM $$')
    assert.equal(killed.code, 255)
  })

  it('lets in with each type of key that can be added, and refuses what is none', { timeout: 60_000 }, async () => {
    for (const type of ['ecdsa', 'rsa']) {
      await makeKey(join(work, type), type)
      await addSshKey(service, join(work, type))
      const { out, err } = await sshClient(port, join(work, type), work).ssh('shop', 'echo in')
      assert.equal(out, 'in\n', `${type}: ${err}`)
    }
    const add = async (publicKey: string) =>
      session('POST', '/auth/ssh-keys', { publicKey }).then(
        () => 'added',
        ({ problem }: { problem: { code: string; detail: string } }) => `${problem.code}: ${problem.detail}`,
      )
    const short = join(work, 'short')
    await execute('ssh-keygen', ['-q', '-t', 'rsa', '-b', '1024', '-N', '', '-f', short])
    assert.match(await add(await readFile(`${short}.pub`, 'utf8')), /^validation_failed: .*1024 bits/)
    assert.match(await add(await readFile(short, 'utf8')), /^validation_failed: .*private key/)
    assert.match(await add('ssh-ed25519 AAAA'), /^validation_failed: .*damaged/)
    assert.match(await add('hello'), /^validation_failed: .*no public key/)
    assert.match(await add(await readFile(join(work, 'rsa.pub'), 'utf8')), /^conflict: /)
  })

  it('takes the environment of a runtime by the user name, and of variables those of the language alone', async () => {
    assert.equal((await client.ssh('shop+static', 'echo ok')).out, 'ok\n')
    const wrong = await client.ssh('shop+nothing', 'echo ok')
    assert.match(wrong.err, /There is no environment "nothing"[\s\S]*"static"/)
    assert.equal(wrong.code, 254)
    const sent = ['-o', 'SetEnv=LC_TEST=drei LANG=C.UTF-8 LD_PRELOAD=/tmp/x.so EVIL=1']
    const { out } = await client.ssh('shop', 'echo "[$LC_TEST][$LANG][$LD_PRELOAD][$EVIL]"', sent)
    assert.equal(out, '[drei][C.UTF-8][][]\n')
  })

  it('has a terminal that knows the window, and ends with its client', async () => {
    const { out, code } = await client.ssh('shop', 'stty size; tty; echo "$TERM"; exit 3', ['-tt'])
    assert.match(out, /\d+ \d+\r\n\/dev\/\S+\r\n/)
    assert.equal(code, 3)
    await until(async () => (await open()).length === 0, 'the terminal to be ended')
  })

  const open = async () =>
    (await service.client.call('listTerminals', { params: { id: 'shop' } })).items.filter(
      ({ state }) => state === 'running',
    )

  it('has a shell that survives a lost connection and is come back to', { timeout: 60_000 }, async () => {
    const way = await leadOn(port)
    try {
      const far = sshClient(way.port, join(work, 'key'), work)
      const shell = far.start('ssh', [...far.options, '-tt', 'shop@127.0.0.1'])
      const seen = outputOf(shell)
      shell.stdin!.write('number=41; (sleep 2; echo "la""ter" > late.txt) &\necho "re""ady"\n')
      await until(async () => seen().includes('ready'), 'the shell to answer')
      // Not a word of good-bye: the network is gone.
      way.cut()
      await once(shell, 'close')
      const [terminal] = await until2(open, (found) => found.length === 1, 'the terminal to stay')
      const again = client.start('ssh', [...client.options, '-tt', '-s', 'shop@127.0.0.1', terminal!.id])
      const more = outputOf(again)
      again.stdin!.write('echo "$((number + 1)) $(cat late.txt)"\n')
      await until(async () => {
        if (!/42 later/.test(more())) again.stdin!.write('echo "$((number + 1)) $(cat late.txt)"\n')
        return /42 later/.test(more())
      }, 'the same shell to answer')
      again.stdin!.write('exit 5\n')
      const [code] = await once(again, 'close')
      assert.equal(code, 5)
    } finally {
      way.close()
    }
  })

  it('ends a program with its client', async () => {
    const child = client.start('ssh', [...client.options, 'shop@127.0.0.1', 'echo $$; sleep 1000'])
    const pid = await until2(
      async () => Number(outputOf(child)()) || Number((await once(child.stdout!, 'data'))[0]),
      (found) => found > 0,
      'the program to start',
    )
    child.kill('SIGKILL')
    await until(async () => !(await exists(`/proc/${pid}`)), 'the program to be ended')
  })

  const size = isSoak ? 1_000_000_000 : 100_000_000
  it('takes and gives files with sftp, scp and rsync: bytes, modes, times, resumed and in numbers', {
    timeout: 600_000,
  }, async () => {
    const big = randomBytes(1_000_000)
    const file = join(work, 'big')
    await writeFile(file, Buffer.concat(Array.from({ length: size / 1_000_000 }, () => big)))
    const whole = sha(await readFile(file))
    await chmod(file, 0o640)
    await utimes(file, 1_600_000_000, 1_600_000_000)
    const put = await client.sftp('shop', [
      `put -p ${file} big`,
      'ls -l big',
      'df',
      'mkdir d',
      'rename big d/big',
      'chmod 600 d/big',
      'ln d/big twice',
      'ln -s d/big link',
      'get link back',
      'rm twice',
    ])
    assert.equal(put.code, 0, put.err + put.out)
    const there = await stat(join(folder, 'd/big'))
    assert.equal(there.mode & 0o777, 0o600)
    assert.equal(there.mtimeMs, 1_600_000_000_000)
    assert.equal(sha(await readFile(join(work, 'back'))), whole)
    // Both ways go on where they were.
    await execute('truncate', ['-s', String(size / 2 + 7), join(work, 'back')])
    await client.ssh('shop', `truncate -s ${size / 2 + 3} d/big`)
    const resumed = await client.sftp('shop', [`reput ${file} d/big`, `reget d/big ${join(work, 'back')}`])
    assert.equal(resumed.code, 0, resumed.err)
    assert.equal(sha(await readFile(join(folder, 'd/big'))), whole)
    assert.equal(sha(await readFile(join(work, 'back'))), whole)

    const many = join(work, 'many')
    const count = isSoak ? 10_000 : 500
    await mkdir(many)
    for (let at = 0; at < count; at += 1) await writeFile(join(many, `file ${at} ü`), `${at}\n`)
    for (const [program, args] of [
      ['scp', [...client.options, '-q', '-r', many, 'shop@127.0.0.1:by-scp']],
      ['rsync', ['-a', '-e', `ssh ${client.options.join(' ')}`, `${many}/`, 'shop@127.0.0.1:by-rsync/']],
      ['scp', [...client.options, '-q', '-r', 'shop@127.0.0.1:by-scp', join(work, 'scp-back')]],
      ['rsync', ['-a', '-e', `ssh ${client.options.join(' ')}`, 'shop@127.0.0.1:by-scp/', join(work, 'rsync-back')]],
    ] as const) {
      const { code, err } = await client.run(program, args)
      assert.equal(code, 0, `${program}: ${err}`)
    }
    for (const copy of [
      join(folder, 'by-scp'),
      join(folder, 'by-rsync'),
      join(work, 'scp-back'),
      join(work, 'rsync-back'),
    ])
      await execute('diff', ['-r', many, copy])
  })

  it('takes a push of git and gives a clone', async () => {
    const env = `GIT_SSH_COMMAND="ssh ${client.options.join(' ')}" GIT_CONFIG_GLOBAL=/dev/null`
    await client.ssh(
      'shop',
      'git init -q -b main repo && cd repo && git -c user.name=a -c user.email=a@b.test commit -q --allow-empty -m first',
    )
    const clone = await client.run('sh', [
      '-c',
      `${env} git clone -q ssh://shop@127.0.0.1:${port}${folder}/repo ${work}/clone && git -C ${work}/clone log --format=%s`,
    ])
    assert.equal(clone.out.trim(), 'first', clone.err)
    const push = await client.run('sh', [
      '-c',
      `cd ${work}/clone && git -c user.name=a -c user.email=a@b.test commit -q --allow-empty -m second && ${env} git push -q origin HEAD:refs/heads/other`,
    ])
    assert.equal(push.code, 0, push.err)
    assert.equal((await client.ssh('shop', 'git -C repo log -1 --format=%s other')).out, 'second\n')
  })

  it('wakes a project that sleeps, but not for its files', { timeout: 60_000 }, async () => {
    const params = { id: 'other' }
    const state = async () => (await service.client.call('getProject', { params })).status.state
    await service.client.call('sleepProject', { params, query: { wait: 30 } })
    assert.equal(await state(), 'sleeping')
    const files = await client.sftp('other', ['ls'])
    assert.match(files.out, /index\.html/, files.err)
    assert.equal(await state(), 'sleeping')
    const { out, err } = await client.ssh('other', 'echo awake')
    assert.equal(out, 'awake\n', err)
    assert.equal(await state(), 'running')
  })

  it('leads connections on to ports of the project alone', { timeout: 60_000 }, async () => {
    const [own, foreign] = [await freePort(), await freePort()]
    const serving = (user: string, on: number) =>
      client.start('ssh', [
        ...client.options,
        `${user}@127.0.0.1`,
        `exec python3 -m http.server ${on} --bind 127.0.0.1`,
      ])
    const programs = [serving('shop', own), serving('other', foreign)]
    try {
      for (const one of [own, foreign])
        await until(async () => (await answers(one)) !== null, 'the programs of the projects to listen')
      const through = async (host: string, to: number) => {
        const { out, err } = await client.run(
          'ssh',
          [
            '-o',
            'LogLevel=INFO',
            ...client.options,
            '-W',
            `${host.includes(':') ? `[${host}]` : host}:${to}`,
            'shop@127.0.0.1',
          ],
          'GET / HTTP/1.0\r\n\r\n',
        )
        return { out, err }
      }
      assert.match((await through('localhost', own)).out, /200 OK/)
      for (const [host, to] of [
        ['127.0.0.1', foreign],
        ['localhost', foreign],
        ['localhost', Number(new URL(service.url).port)],
        ['127.0.0.1', service.proxyPort],
        ['localhost', port],
        ['0.0.0.0', own],
        ['127.0.0.2', own],
        ['::ffff:127.0.0.1', own],
        ['169.254.169.254', 80],
        ['other', foreign],
        ['other.localhost', 80],
        ['example.org', 80],
        ['localhost', 22],
      ] as const) {
        const { out, err } = await through(host, to)
        assert.equal(out, '', `${host}:${to}`)
        assert.match(err, /Only ports of the project|No program of the project|Nothing answers/, `${host}:${to}`)
      }
      const back = await client.ssh('shop', 'true', [
        '-o',
        'ExitOnForwardFailure=yes',
        '-R',
        `${await freePort()}:127.0.0.1:1`,
      ])
      assert.equal(back.code, 255)
      const agent = await client.ssh('shop', 'echo "[$SSH_AUTH_SOCK][$DISPLAY]"', ['-A', '-X'])
      assert.equal(agent.out, '[][]\n')
    } finally {
      for (const program of programs) program.kill()
    }
  })

  it('refuses whoever may not work in the project, and tells nobody whether it exists', {
    timeout: 60_000,
  }, async () => {
    const { items } = await service.client.call('listProjects', {})
    const other = items.find(({ slug }) => slug === 'other')!.id
    const tokens = {
      operate: await service.newToken('operate'),
      read: await service.newToken('read'),
      elsewhere: await service.newToken('operate', [other]),
    }
    const withToken = async (token: string, user = 'shop') => {
      const ask = join(work, 'ask')
      await writeFile(ask, `#!/bin/sh\necho '${token}'\n`, { mode: 0o700 })
      const options = client.options.map((word) => (word === 'BatchMode=yes' ? 'PubkeyAuthentication=no' : word))
      return client.run('env', [
        'SSH_ASKPASS_REQUIRE=force',
        `SSH_ASKPASS=${ask}`,
        'ssh',
        ...options,
        '-o',
        'NumberOfPasswordPrompts=1',
        `${user}@127.0.0.1`,
        'echo in',
      ])
    }
    assert.equal((await withToken(tokens.operate)).out, 'in\n')
    const refusals = [
      await withToken(tokens.read),
      await withToken(tokens.elsewhere),
      await withToken(tokens.elsewhere, 'no-such-project'),
      await withToken('stq_wrong'),
    ]
    for (const { code, out, err } of refusals) {
      assert.equal(code, 255)
      assert.equal(out, '')
      assert.match(err, /Permission denied/)
    }
    await makeKey(join(work, 'stranger'), 'ed25519')
    const stranger = sshClient(port, join(work, 'stranger'), work)
    const [known, unknown] = [await stranger.ssh('shop', 'id'), await stranger.ssh('no-such-project', 'id')]
    assert.equal(known.err.replace('shop', '*'), unknown.err.replace('no-such-project', '*'))
    assert.ok((await audit('ssh.open')).some(({ outcome }) => outcome === 'denied'))
  })

  it('ends connections within a second of the key, the token or the user', { timeout: 90_000 }, async () => {
    const users = (await session('GET', '/users')) as { items: { id: string; username: string }[] }
    assert.ok(users.items.length > 0)
    const made = (await session('POST', '/users', {
      username: 'bob',
      role: 'operate',
      password: 'long-enough-for-bob',
    })) as { id: string }
    const bob = { username: 'bob', password: 'long-enough-for-bob' }
    await makeKey(join(work, 'bob'), 'ed25519')
    const change = (body: object) => session('PATCH', `/users/${made.id}`, body)
    const keyId = await addSshKey(service, join(work, 'bob'), bob)
    const his = sshClient(port, join(work, 'bob'), work)
    for (const [what, act, undo] of [
      ['disabled', () => change({ disabled: true }), () => change({ disabled: false })],
      ['demoted', () => change({ role: 'read' }), () => change({ role: 'operate' })],
      ['removed', async () => (await sessionOf(service, bob))('DELETE', `/auth/ssh-keys/${keyId}`), async () => null],
    ] as const) {
      const child = his.start('ssh', [...his.options, 'shop@127.0.0.1', 'echo in; sleep 1000'])
      const [first] = await once(child.stdout!, 'data')
      assert.equal(String(first), 'in\n', what)
      // The time of logging in to remove the key is none of the service’s.
      await act()
      const before = performance.now()
      await once(child, 'close')
      const took = performance.now() - before
      assert.ok(took < 1000, `${what}: it ended after ${took} ms`)
      assert.equal((await his.ssh('shop', 'true')).code, 255, what)
      await undo()
    }
    const closed = await until2(
      () => audit('ssh.close'),
      (found) => found.some(({ actor }) => actor.startsWith('bob (ssh key:')),
      'the ends to be written down',
    )
    assert.ok(closed.every(({ source, ip }) => source === 'ssh' && ip === '127.0.0.1'))
  })

  it('ends connections when the project is deleted', async () => {
    const child = client.start('ssh', [...client.options, 'other@127.0.0.1', 'echo in; sleep 1000'])
    await once(child.stdout!, 'data')
    const ended = once(child, 'close')
    await service.client.call('deleteProject', {
      params: { id: 'other' },
      query: { confirm: 'other', purge: true, wait: 60 } as never,
    })
    await ended
    assert.equal((await client.ssh('other', 'true')).code, 255)
  })
})

function outputOf(child: ChildProcess): () => string {
  let text = ''
  child.stdout!.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8')
  })
  return () => text
}

async function until2<T>(look: () => Promise<T>, isRight: (found: T) => boolean, what: string): Promise<T> {
  let found = await look()
  await until(async () => {
    if (!isRight(found)) found = await look()
    return isRight(found)
  }, what)
  return found
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

async function answers(port: number): Promise<true | null> {
  const socket = connect(port, '127.0.0.1')
  const done = await Promise.race([
    once(socket, 'connect').then(() => true as const),
    once(socket, 'error').then(() => null),
  ]).catch(() => null)
  socket.destroy()
  return done
}

/** A way to the service that can be cut, as a network is. */
async function leadOn(target: number) {
  const sockets = new Set<Socket>()
  const server = (await import('node:net')).createServer((near) => {
    const far = connect(target, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    near.pipe(far)
    far.pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    port: (server.address() as { port: number }).port,
    cut,
    close: () => {
      cut()
      server.close()
    },
  }
}
