import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { isAlive } from '@stackquay/testkit'
import { type Service, startService, until } from './support/service.ts'
import { connect } from './support/socket-peer.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'

describe('terminals and programs of a project', () => {
  let service: Service
  let root: SourceRoot
  let folder: string
  before(async () => {
    root = await makeSourceRoot()
    service = await startService({ roots: root.path })
    folder = await root.folder('shop', { 'index.html': 'hello\n', 'a b.txt': 'spaces\n' })
    const settings: object = { static: {} }
    await service.client.call('createProject', {
      body: { ...settings, name: 'Shop', path: folder, start: false },
      query: { wait: 60 },
    })
  })
  after(async () => {
    await service?.close()
    await root?.remove()
  })

  const newTerminal = async (body: object = {}) =>
    (await service.client.call('createTerminal', { params: { id: 'shop' }, body })).id
  const see = (id: string, query = '') => connect(service, `/projects/shop/terminals/${id}/ws${query}`)

  it('is a shell of the unprivileged account in the folder of the source, and the project need not run', async () => {
    const peer = await see(await newTerminal())
    peer.type('echo "[$(id -u)] [$PWD] [$(cat "a b.txt")] [$(tty)]"\n')
    const [, uid, pwd, text, tty] = await peer.match(/\[(\d+)\] \[([^\]\n]+)\] \[(spaces)\] \[([^\]]+)\]/)
    assert.notEqual(Number(uid), 0)
    assert.equal(pwd, folder)
    assert.equal(text, 'spaces')
    assert.match(tty!, /^\/dev\//)
    peer.close()
  })

  it('prints ok after `sleep 20; echo ok` in the same terminal, though the service was killed meanwhile', {
    timeout: 120_000,
  }, async () => {
    const id = await newTerminal()
    const first = await see(id)
    first.type('sleep 20; echo "o"k\n')
    await first.match(/sleep 20/)
    await service.kill()
    await service.start()
    const second = await see(id, `?after=${first.bytes().length}`)
    await second.match(/^ok\r?$/m, 60_000)
    second.type('echo "still "here\n')
    await second.match(/still here/)
    await until(async () => {
      const { state, output } = await service.client.call('getTerminal', { params: { id: 'shop', term: id } })
      assert.equal(state, 'running')
      return first.bytes().length + second.bytes().length === output.end
    }, 'both together to have seen every byte once')
    second.close()
  })

  it('takes control keys, and its programs see the size of the window', async () => {
    const peer = await see(await newTerminal({ cols: 100, rows: 30 }))
    peer.type('stty size; sleep 1000\n')
    await peer.match(/30 100/)
    peer.send({ type: 'resize', cols: 91, rows: 27 })
    peer.type('\x03')
    await peer.match(/\^C/)
    peer.type('stty size\n')
    await peer.match(/27 91/)
    peer.close()
  })

  it('ends with everything that runs in it', async () => {
    const id = await newTerminal()
    const peer = await see(id)
    peer.type('(trap "" HUP TERM; sleep 1000) & sleep 1000 & echo "pids: $(jobs -p | tr "\\n" " ")end"\n')
    const [, text] = await peer.match(/pids: ([\d ]+)end/)
    const pids = text!.trim().split(' ').map(Number)
    assert.equal(pids.length, 2)
    await service.client.call('endTerminal', { params: { id: 'shop', term: id } })
    for (const pid of pids) assert.equal(await isAlive(pid), false)
    assert.ok(await peer.frame('exit'))
  })

  it('runs one program with its output as lines of JSON', async () => {
    const answer = await post('/projects/shop/exec', {
      argv: ['sh', '-c', 'cat; echo err >&2; exit 3'],
      stdin: 'in ✓\n',
    })
    const lines = answer
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const all = (stream: string) => lines.map((line) => line[stream] ?? '').join('')
    assert.equal(all('stdout'), 'in ✓\n')
    assert.equal(all('stderr'), 'err\n')
    assert.deepEqual(lines.at(-1), { exit: { code: 3, signal: null } })
  })

  it('passes every byte through a program, in both directions', async () => {
    const bytes = randomBytes(5_000_000)
    const peer = await connect(service, '/projects/shop/exec/ws')
    peer.send({ type: 'run', argv: ['cat'] })
    await peer.frame('start')
    for (let at = 0; at < bytes.length; at += 50_000) peer.socket.send(bytes.subarray(at, at + 50_000))
    peer.send({ type: 'eof' })
    const { code } = await peer.frame('exit')
    assert.equal(code, 0)
    assert.ok(Buffer.concat(peer.chunks.map((chunk) => chunk.subarray(1))).equals(bytes))
    assert.ok(peer.chunks.every((chunk) => chunk[0] === 1))
  })

  it('holds a program whose output nobody reads, without growing', async () => {
    const peer = await connect(service, '/projects/shop/exec/ws')
    peer.send({ type: 'run', argv: ['yes', 'x'.repeat(1000)] })
    const { pid } = await peer.frame('start')
    peer.socket.pause()
    const written = async () => Number(/^wchar: (\d+)/m.exec(await readFile(`/proc/${pid}/io`, 'utf8'))?.[1])
    let before = -1
    await until(async () => {
      const now = await written()
      const stands = now === before
      before = now
      await new Promise((resolve) => setTimeout(resolve, 200))
      return stands
    }, 'the program to be held')
    assert.ok(before < 32 << 20, `${before} bytes were taken`)
    peer.socket.terminate()
    await until(async () => !(await isAlive(pid)), 'the program to be ended with its caller')
  })

  it('sends signals to a program, and ends it when the caller goes', async () => {
    const peer = await connect(service, '/projects/shop/exec/ws')
    peer.send({
      type: 'run',
      argv: ['sh', '-c', 'trap "echo got it; exit 5" INT; echo ready; while :; do sleep 0.1; done'],
    })
    await peer.match(/ready/)
    peer.send({ type: 'signal', signal: 'SIGINT' })
    assert.equal((await peer.frame('exit')).code, 5)
    assert.match(peer.bytes().toString('latin1'), /got it/)

    const left = await connect(service, '/projects/shop/exec/ws')
    left.send({ type: 'run', argv: ['sh', '-c', 'trap "" INT TERM HUP; sleep 1000 & wait; sleep 1000'] })
    const { pid } = await left.frame('start')
    left.socket.terminate()
    await until(async () => !(await isAlive(pid)), 'the program to be gone')
  })

  async function post(path: string, body: object): Promise<string> {
    const answer = await fetch(`${service.url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(answer.status, 200)
    return answer.text()
  }
})
