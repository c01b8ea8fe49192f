import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, readlink, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { freePort, makeKey } from '@stackquay/testkit'
import { type Service, startService, until } from './support/service.ts'
import { addSshKey, type SshClient, sessionOf, sshClient } from './support/ssh-client.ts'

const execute = promisify(execFile)

describe('SSH with what people have besides OpenSSH, and the process that speaks it', { timeout: 600_000 }, () => {
  let service: Service
  let work: string
  let port: number
  let client: SshClient
  let key: string

  before(async () => {
    port = await freePort()
    work = await mkdtemp(join(tmpdir(), 'stackquay-ssh-clients-'))
    service = await startService({ env: { STACKQUAY_SSH: `127.0.0.1:${port}` } })
    const body = { name: 'Shop', template: 'static' as const, start: false }
    await service.client.call('createProject', { body, query: { wait: 60 } })
    key = join(work, 'key')
    await makeKey(key, 'ed25519')
    client = sshClient(port, key, work)
    await addSshKey(service, key)
  })
  after(async () => {
    await service?.close()
    if (work !== undefined) await rm(work, { recursive: true, force: true })
  })

  const options = () => client.options.join(' ')
  /** The process that speaks SSH: a child of the service. */
  const protocol = async (): Promise<number | null> => {
    const { stdout } = await execute('ps', ['--ppid', String(service.pid()), '-o', 'pid=,args='])
    const line = stdout.split('\n').find((one) => one.includes('ssh/protocol/program'))
    return line === undefined ? null : Number.parseInt(line, 10)
  }

  it('begins with the first connection, owns nothing, and has its key from nowhere that others see', async () => {
    assert.equal(await protocol(), null)
    assert.equal((await client.ssh('shop', 'echo in')).out, 'in\n')
    const pid = await protocol()
    assert.ok(pid !== null)
    const [status, env, args] = await Promise.all(
      ['status', 'environ', 'cmdline'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8')),
    )
    assert.doesNotMatch(`${env}${args}`, /PRIVATE|STACKQUAY|host-key/)
    if (process.getuid?.() !== 0) return
    assert.match(status!, /^Uid:\t65534\t65534\t65534\t65534$/m)
    assert.match(status!, /^CapEff:\t0+$/m)
    assert.match(status!, /^CapBnd:\t0+$/m)
    assert.match(status!, /^NoNewPrivs:\t1$/m)
  })

  it('lftp puts, gets, mirrors and resumes', async () => {
    const bytes = randomBytes(8_000_000)
    const [near, back] = [join(work, 'near'), join(work, 'back')]
    await writeFile(near, bytes)
    await mkdir(join(work, 'tree/deep'), { recursive: true })
    for (let at = 0; at < 30; at += 1) await writeFile(join(work, `tree/deep/${at} ü`), `${at}\n`)
    const lftp = async (...lines: readonly string[]) => {
      const settings = [
        `set sftp:connect-program "ssh -a -x ${options()}"`,
        'set net:max-retries 1',
        'set cmd:fail-exit yes',
        `open -u shop, sftp://127.0.0.1:${port}`,
      ]
      const { code, err } = await client.run('lftp', ['--norc', '-c', [...settings, ...lines].join('; ')])
      assert.equal(code, 0, err)
    }
    await lftp(`put ${near} -o far`, `get far -o ${back}`, `mirror -R ${join(work, 'tree')} tree`, 'chmod 640 far')
    assert.ok((await readFile(back)).equals(bytes))
    await truncate(back, 3_000_001)
    await client.ssh('shop', 'truncate -s 2000003 far')
    await lftp(`put -c ${near} -o far`, `get -c far -o ${back}`, `mirror tree ${join(work, 'tree-back')}`)
    assert.ok((await readFile(back)).equals(bytes))
    await execute('diff', ['-r', join(work, 'tree'), join(work, 'tree-back')])
    assert.equal((await client.ssh('shop', 'stat -c %a far')).out, '640\n')
  })

  it('sshfs mounts the folder: files, links, modes, renames', async (t) => {
    const mount = join(work, 'mount')
    await mkdir(mount)
    const args = ['shop@127.0.0.1:/', mount, '-f', '-o', `ssh_command=ssh ${options()}`]
    const child = client.start('sshfs', args)
    let said = ''
    child.stderr!.on('data', (chunk: Buffer) => {
      said += chunk
    })
    const ended = once(child, 'exit')
    const device = (await stat(work)).dev
    await until(async () => child.exitCode !== null || (await stat(mount)).dev !== device, 'the folder to be mounted')
    if (child.exitCode !== null) {
      assert.match(said, /fuse/, 'it failed of something else than the machine')
      return t.skip(`this machine mounts nothing: ${said.trim()}`)
    }
    try {
      await execute('sh', [
        '-c',
        'set -e; cd "$0"; mkdir d; echo one > d/a; echo two >> d/a; chmod 600 d/a; mv d/a d/b; ln -s b d/link; test "$(cat d/link)" = "one\ntwo"; dd if=/dev/zero of=d/zeros bs=1M count=20 2> /dev/null',
        mount,
      ])
      assert.equal(await readlink(join(mount, 'd/link')), 'b')
      assert.equal((await client.ssh('shop', 'stat -c "%a %s" d/b d/zeros')).out, '600 8\n640 20971520\n')
    } finally {
      await execute('fusermount3', ['-u', mount]).catch(() => execute('umount', ['-l', mount]))
      await ended
    }
  })

  it('an editor installs its server over a command, is led to it by -D and -L, and fetches files', async () => {
    const far = await freePort()
    // As editors do it: the script comes on the standard input of a shell, unpacks something and says where it listens.
    const script = `mkdir -p .editor && cat > .editor/server.py <<'END'
import http.server
http.server.HTTPServer(("127.0.0.1", ${far}), http.server.SimpleHTTPRequestHandler).serve_forever()
END
echo "listeningOn==${far}=="
exec python3 .editor/server.py
`
    const server = client.start('ssh', [...client.options, 'shop@127.0.0.1', 'sh'])
    server.stdin!.write(script)
    const [line] = await once(server.stdout!, 'data')
    assert.equal(String(line), `listeningOn==${far}==\n`)
    const [socks, led] = [await freePort(), await freePort()]
    const ways = client.start('ssh', [
      ...client.options,
      '-N',
      ...['-D', `127.0.0.1:${socks}`, '-L', `127.0.0.1:${led}:localhost:${far}`],
      'shop@127.0.0.1',
    ])
    try {
      const curl = (...args: readonly string[]) => client.run('curl', ['-sS', '--max-time', '20', ...args])
      await until(async () => (await curl(`http://127.0.0.1:${led}/`)).code === 0, 'the server to be reached')
      const bySocks = await curl('--socks5-hostname', `127.0.0.1:${socks}`, `http://localhost:${far}/.editor/server.py`)
      assert.match(bySocks.out, /serve_forever/, bySocks.err)
      const foreign = await curl('--socks5-hostname', `127.0.0.1:${socks}`, `${service.url}/api/v1/health`)
      assert.notEqual(foreign.code, 0)
      // Through the project to the same service, as `ssh -J` goes: the service’s own port is none of the project’s.
      const jump = await client.run('ssh', [
        ...client.options,
        '-o',
        `ProxyCommand=ssh ${options()} -W 127.0.0.1:${port} shop@127.0.0.1`,
        'shop@127.0.0.1',
        'true',
      ])
      assert.equal(jump.code, 255)
      const files = await client.sftp('shop', ['ls -a .editor'])
      assert.match(files.out, /server\.py/)
    } finally {
      ways.kill()
      server.kill()
    }
  })

  it('its end ends connections, and neither the service nor shells', async () => {
    const shell = client.start('ssh', [...client.options, '-tt', 'shop@127.0.0.1'])
    shell.stdin!.write('echo "st""ays"\n')
    let seen = ''
    shell.stdout!.on('data', (chunk: Buffer) => {
      seen += chunk
    })
    await until(async () => seen.includes('stays'), 'the shell to answer')
    const before = await protocol()
    const ended = once(shell, 'close')
    process.kill(before!, 'SIGKILL')
    await ended
    const running = async () =>
      (await service.client.call('listTerminals', { params: { id: 'shop' } })).items.filter(
        ({ state }) => state === 'running',
      )
    assert.equal((await running()).length, 1)
    const again = await client.ssh('shop', 'echo again')
    assert.equal(again.out, 'again\n', again.err)
    assert.notEqual(await protocol(), before)
    assert.equal((await running()).length, 1)
    const [{ id } = { id: '' }] = await running()
    await service.client.call('endTerminal', { params: { id: 'shop', term: id } })
  })

  it('one that hangs is ended when a right ends, and one that is stopped holds nobody up', async () => {
    const id = await addSshKeyOfOther()
    const other = sshClient(port, join(work, 'other'), work)
    const child = other.start('ssh', [...other.options, 'shop@127.0.0.1', 'echo $$; sleep 1000'])
    const [first] = await once(child.stdout!, 'data')
    const pid = await protocol()
    process.kill(pid!, 'SIGSTOP')
    await id.remove()
    // The program ends at once, whatever the other process does; the process goes a moment later.
    await until(async () => !(await exists(`/proc/${Number(first)}`)), 'the program to be ended')
    await until(async () => !(await exists(`/proc/${pid}`)), 'the process that hangs to be ended')
    assert.equal((await client.ssh('shop', 'echo on')).out, 'on\n')
    child.kill()
  })

  it('neither it nor the service grows with what passes', async () => {
    const before = { own: await rss((await protocol())!), service: await rss(service.pid()!) }
    const file = join(work, 'zeros')
    await execute('truncate', ['-s', '80M', file])
    assert.equal((await client.sftp('shop', [`put ${file} zeros`, `get zeros ${file}-back`])).code, 0)
    const own = (await rss((await protocol())!)) - before.own
    assert.ok(own < 130, `the process of SSH grew by ${own} MB`)
    const grown = (await rss(service.pid()!)) - before.service
    assert.ok(grown < 40, `the service grew by ${grown} MB`)
  })

  const addSshKeyOfOther = async () => {
    await makeKey(join(work, 'other'), 'ed25519')
    const id = await addSshKey(service, join(work, 'other'))
    const session = await sessionOf(service)
    return { remove: () => session('DELETE', `/auth/ssh-keys/${id}`) }
  }
})

async function rss(pid: number): Promise<number> {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))
  return Math.round(Number(found?.[1]) / 1024)
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )
