import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createConnection, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { openPortWalls, type PortRule, type PortWalls } from '../src/native/index.ts'
import { type Reach, reach, reachMultipath, serve } from './port-walls-programs.ts'

/*
 * This file runs itself again in a network of its own, where its firewall and its ports disturb nothing of this machine.
 */
const INSIDE = 'STACKQUAY_TEST_NETWORK'
const PREPARE = `ip link set lo up && ip link add ours type veth peer name theirs && ip link set theirs up && ip link set ours up \
  && ip address add 192.0.2.1/24 dev ours && ip address add 2001:db8::1/64 dev ours nodad`

const uids = { from: 47_000, to: 47_999 }
const A = 47_001
const B = 47_002
const outside = 46_999
/** Leased to A, leased to B, of B without a lease, of the page. */
const ports = { own: 21_001, others: 21_002, unleased: 21_003, page: 8700 }
const rules: readonly PortRule[] = [
  { port: ports.own, uid: A },
  { port: ports.others, uid: B },
]
const addresses = ['127.0.0.1', '127.0.0.2', '0.0.0.0', '192.0.2.1', '::1', '::', '2001:db8::1', '::ffff:127.0.0.1']
const everywhere = (port: number): readonly Reach[] =>
  addresses.flatMap((host) => (['tcp', 'udp'] as const).map((protocol) => ({ protocol, host, port })))

if (process.getuid?.() !== 0) {
  test('who is not root gets no walls, and the reason', async () => {
    const { walls, why } = await openPortWalls({ instance: instanceOf(1), uids, onError: assert.fail })
    assert.equal(walls, null)
    assert.match(why ?? '', /root/)
  })
} else if (process.env[INSIDE] === undefined) {
  test('walls around ports, in a network of their own', { timeout: 240_000 }, () => {
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env
    const self = [process.execPath, '--test', '--test-reporter=spec', import.meta.filename]
    const { status, stdout, stderr } = spawnSync(
      'unshare',
      ['-n', 'sh', '-c', `${PREPARE} && exec "$@"`, 'sh', ...self],
      {
        env: { ...env, [INSIDE]: '1' },
        encoding: 'utf8',
      },
    )
    console.log(stdout)
    assert.equal(status, 0, stderr)
    assert.match(stdout, /pass [1-9]/)
  })
} else {
  for (const kind of ['nft', 'iptables'] as const) testsOf(kind)

  test('a table that another process removed, flushed or made anew is whole after the next change', async (t) => {
    const walls = await opened(t, 'nft')
    await servers(t)
    const isWalled = async () => (await answersOf(A, ports.others)).every((result) => result !== 'B')
    await walls.set(rules)
    const table = `inet stackquay_${instanceOf(1)}`
    for (const command of [`flush table ${table}`, 'flush ruleset', `delete table ${table}; add table ${table}`]) {
      nft(command)
      assert.equal(await isWalled(), false, command)
      await walls.set([...rules, { port: 21_100, uid: A }])
      assert.equal(await isWalled(), true, command)
      assert.match(nft(`list table ${table}`), /21100/)
      await walls.set(rules)
    }
  })

  test('a jump that was removed, or has another rule in front of it, is first after the next change', async (t) => {
    const walls = await opened(t, 'iptables')
    await walls.set(rules)
    const jump = `-A OUTPUT -o lo -j stackquay_${instanceOf(1)}`
    for (const change of ['-F OUTPUT', '-I OUTPUT 1 -o lo -j ACCEPT', `-I OUTPUT 1 ${jump.slice(10)}`]) {
      execFileSync('iptables', change.split(' '))
      await walls.set(rules)
      const output = iptables().filter((line) => line.startsWith('-A OUTPUT'))
      assert.equal(output[0], jump, change)
      assert.equal(output.filter((line) => line === jump).length, 1, change)
    }
    execFileSync('iptables', ['-F', 'OUTPUT'])
  })

  test('who opens nft walls takes away the iptables walls of before', async (t) => {
    const before = await opened(t, 'iptables')
    await before.set(rules)
    const walls = await opened(t, 'nft')
    assert.equal(
      iptables().some((line) => line.includes('stackquay_')),
      true,
    )
    await walls.set(rules)
    assert.equal(
      iptables().some((line) => line.includes('stackquay_')),
      false,
    )
  })

  test('a set that fails is reported, and is a fault until one succeeds', async (t) => {
    const reported: string[] = []
    const walls = await opened(t, 'nft', 1, (error) => reported.push((error as Error).message))
    await servers(t)
    await walls.set(rules)
    const give = await takeTable(`inet stackquay_${instanceOf(1)}`)
    t.after(give)
    await assert.rejects(walls.set(rules), /nft/)
    assert.match(walls.fault() ?? '', /nft/)
    assert.equal(reported.length, 1)
    await give()
    await walls.set(rules)
    assert.equal(walls.fault(), null)
    assert.notEqual((await answersOf(A, ports.others))[0], 'B')
  })

  test('changes that come together are written together, and the last one counts', async (t) => {
    const walls = await opened(t, 'nft')
    const many = Array.from({ length: 50 }, (_, at) => walls.set([{ port: 22_000 + at, uid: A }]))
    await Promise.all(many)
    const text = nft(`list table inet stackquay_${instanceOf(1)}`)
    assert.match(text, /22049/)
    assert.doesNotMatch(text, /22048/)
    const generations = /elements = \{ (0x[0-9a-f]+) \}/.exec(text)?.[1]
    await walls.set([])
    const after = /elements = \{ (0x[0-9a-f]+) \}/.exec(nft(`list table inet stackquay_${instanceOf(1)}`))?.[1]
    assert.equal(Number(after) - Number(generations), 1)
  })

  test('while walls are written the event loop goes on', async (t) => {
    const walls = await opened(t, 'nft')
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    }, 1)
    t.after(() => clearInterval(timer))
    const took = await timed(() =>
      walls.set(Array.from({ length: 2000 }, (_, at) => ({ port: 20_000 + at, uid: 47_000 + (at % 1000) }))),
    )
    assert.ok(turns >= 10, `${turns} turns in ${took} ms`)
  })

  test('numbers that are no ports and no users are refused before anything is written', async (t) => {
    const walls = await opened(t, 'nft')
    for (const wrong of [
      { port: 0, uid: A },
      { port: 65_536, uid: A },
      { port: 1.5, uid: A },
      { port: 80, uid: -1 },
    ])
      assert.throws(() => walls.set([wrong]), RangeError)
    await assert.rejects(openPortWalls({ instance: 'x; flush ruleset', uids, onError: assert.fail }), RangeError)
    await assert.rejects(
      openPortWalls({ instance: instanceOf(1), uids: { from: 0, to: 10 }, onError: assert.fail }),
      RangeError,
    )
  })
}

function testsOf(kind: PortWalls['kind']): void {
  test(`${kind}: a project reaches its own port, ports without a lease and the page, and no other project's port`, async (t) => {
    const walls = await opened(t, kind)
    await servers(t)
    await walls.set(rules)
    const expected = { own: 'A', unleased: 'B', page: 'page' } as const
    for (const [name, answer] of Object.entries(expected)) {
      const found = await reach(A, everywhere(ports[name as keyof typeof expected]))
      assert.deepEqual(
        found.filter(({ result }) => result !== answer),
        [],
      )
    }
    const refused = await reach(A, everywhere(ports.others))
    assert.equal(refused.length, 16)
    assert.deepEqual(
      refused.filter(
        ({ protocol, result }) => !(protocol === 'tcp' ? ['ECONNREFUSED'] : ['EPERM', 'ECONNREFUSED']).includes(result),
      ),
      [],
    )
    // On a busy machine a process may wait for its turn: what was slow once is tried again.
    let slow = refused.filter(({ ms }) => ms >= 100)
    for (let round = 0; round < 3 && slow.length > 0; round += 1)
      slow = (await reach(A, slow)).filter(({ ms }) => ms >= 100)
    assert.deepEqual(slow, [])
    assert.deepEqual(new Set(await answersOf(B, ports.others)), new Set(['B']))
    assert.notEqual((await answersOf(B, ports.own))[0], 'A')
  })

  test(`${kind}: root and users outside the range reach everything`, async (t) => {
    const walls = await opened(t, kind)
    await servers(t)
    await walls.set(rules)
    for (const uid of [0, outside, uids.to + 1]) {
      assert.deepEqual(new Set(await answersOf(uid, ports.own)), new Set(['A']), String(uid))
      assert.deepEqual(new Set(await answersOf(uid, ports.others)), new Set(['B']), String(uid))
    }
  })

  test(`${kind}: both ends of the range are projects, and a port of a project without a user is open`, async (t) => {
    const walls = await opened(t, kind)
    await servers(t)
    await walls.set([{ port: ports.others, uid: null }])
    for (const uid of [uids.from, uids.to, B])
      assert.notEqual((await answersOf(uid, ports.others))[0], 'B', String(uid))
    // Leased no more: open.
    await walls.set([])
    assert.equal((await answersOf(A, ports.others))[0], 'B')
  })

  test(`${kind}: a listener on another project's port is not heard`, async (t) => {
    const walls = await opened(t, kind)
    await servers(t)
    // B listens on a port that is leased to A.
    await walls.set([...rules, { port: ports.unleased, uid: A }])
    for (const uid of [0, A])
      assert.deepEqual(
        (await answersOf(uid, ports.unleased)).filter((result) => result === 'B'),
        [],
        String(uid),
      )
    await walls.set(rules)
    assert.deepEqual(new Set(await answersOf(0, ports.unleased)), new Set(['B']))
  })

  test(`${kind}: a project is called and calls from any port, and its own port is no disguise`, async (t) => {
    const walls = await opened(t, kind)
    await servers(t)
    await walls.set([...rules, { port: 21_200, uid: B }, { port: 21_201, uid: A }])
    const from = (localPort: number, port: number) => [{ protocol: 'tcp' as const, host: '127.0.0.1', port, localPort }]
    const resultOf = async (uid: number, localPort: number, port: number) =>
      (await reach(uid, from(localPort, port)))[0]?.result
    assert.equal(await resultOf(A, 21_200, ports.own), 'A')
    assert.equal(await resultOf(A, 21_201, ports.page), 'page')
    assert.equal(await resultOf(A, 21_201, ports.others), 'ECONNREFUSED')
    assert.equal(await resultOf(A, ports.page + 1, ports.others), 'ECONNREFUSED')
  })

  test(`${kind}: multipath TCP, whose caller the kernel does not report, is no bypass`, async (t) => {
    const walls = await opened(t, kind)
    await servers(t)
    assert.equal(await reachMultipath(A, ports.others), 'B')
    await walls.set(rules)
    assert.equal(await reachMultipath(A, ports.others), 'ConnectionRefusedError')
    assert.equal(await reachMultipath(B, ports.others), 'B')
  })

  test(`${kind}: a program answers every caller that may call it, whatever port the caller has`, async (t) => {
    const walls = await opened(t, kind)
    await servers(t)
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port: localPort } = server.address() as { port: number }
    await new Promise((resolve) => server.close(resolve))
    // The proxy calls from a port that is leased to another project.
    await walls.set([...rules, { port: localPort, uid: B }])
    const socket = createConnection({ port: ports.own, host: '127.0.0.1', localPort, localAddress: '127.0.0.1' })
    const [text] = await Promise.race([
      new Promise<[string]>((resolve, reject) => {
        socket.once('data', (data) => resolve([String(data)]))
        socket.once('error', reject)
      }),
      new Promise<[string]>((resolve) => setTimeout(resolve, 2000, ['nothing'])),
    ])
    socket.destroy()
    assert.equal(text, 'A')
  })

  test(`${kind}: 2,000 ports are set in one go, and changing one costs little`, async (t) => {
    const walls = await opened(t, kind)
    await servers(t)
    const many = Array.from({ length: 2000 }, (_, at) => ({ port: 22_000 + at, uid: 47_000 + Math.floor(at / 2) }))
    const all = await timed(() => walls.set([...rules, ...many]))
    const changes: number[] = []
    for (let at = 0; at < 9; at += 1)
      changes.push(await timed(() => walls.set([...rules, ...many, { port: 30_000 + at, uid: B }])))
    const median = changes.toSorted((a, b) => a - b)[4] ?? Number.NaN
    const call = await medianCall(A)
    await walls.set([])
    const without = await medianCall(A)
    console.log(
      `${kind}: 2,000 ports ${all.toFixed(0)} ms, one more ${median.toFixed(1)} ms (median of 9); ` +
        `a connection ${call.toFixed(2)} ms, without rules ${without.toFixed(2)} ms`,
    )
    assert.ok(all < 10_000 && median < (kind === 'nft' ? 500 : 5000), `${all} ms, ${median} ms`)
  })

  test(`${kind}: two instances leave each other and everything else alone`, async (t) => {
    nft(
      'add table inet of_somebody; add chain inet of_somebody c { type filter hook output priority 0; policy accept; }',
    )
    nft('add rule inet of_somebody c tcp dport 9 drop')
    execFileSync('iptables', ['-A', 'OUTPUT', '-o', 'lo', '-p', 'tcp', '--dport', '9', '-j', 'DROP'])
    t.after(() => {
      nft('delete table inet of_somebody')
      execFileSync('iptables', ['-F', 'OUTPUT'])
    })
    const before = everythingElse()
    const walls = await opened(t, kind)
    const others = await opened(t, kind, 2)
    await servers(t)
    await walls.set([{ port: ports.own, uid: A }])
    await others.set([{ port: ports.others, uid: B }])
    assert.notEqual((await answersOf(A, ports.others))[0], 'B')
    assert.notEqual((await answersOf(B, ports.own))[0], 'A')
    assert.deepEqual(everythingElse(), before)
    await walls.set([])
    assert.notEqual((await answersOf(A, ports.others))[0], 'B')
    await walls.remove()
    assert.notEqual((await answersOf(A, ports.others))[0], 'B')
    await others.remove()
    await others.remove()
    assert.deepEqual(everythingElse(), before)
    assert.equal((nft('list ruleset') + iptables().join('\n')).includes('stackquay_'), false)
  })

  test(`${kind}: two instances that leased the same port number leave each other's projects alone`, async (t) => {
    const walls = await opened(t, kind)
    const others = await opened(t, kind, 2)
    await servers(t)
    await walls.set([{ port: ports.own, uid: A }], [A])
    await others.set([{ port: ports.own, uid: B }], [B])
    assert.equal((await answersOf(A, ports.own))[0], 'A', 'its own project')
    assert.equal((await answersOf(0, ports.own))[0], 'A', 'the proxy')
  })

  test(`${kind}: walls stay when they are closed, and another process goes on with them`, async (t) => {
    const first = await opened(t, kind)
    await servers(t)
    await first.set(rules)
    await first.close()
    assert.notEqual((await answersOf(A, ports.others))[0], 'B')
    const second = await opened(t, kind)
    assert.notEqual((await answersOf(A, ports.others))[0], 'B')
    await second.set([{ port: ports.own, uid: A }])
    assert.equal((await answersOf(A, ports.others))[0], 'B')
    assert.notEqual((await answersOf(B, ports.own))[0], 'A')
  })
}

async function opened(
  t: TestContext,
  only: PortWalls['kind'],
  instance = 1,
  onError: (error: unknown) => void = (error) => assert.fail(error as Error),
): Promise<PortWalls> {
  const { walls, why } = await openPortWalls({ instance: instanceOf(instance), uids, onError, only })
  if (walls === null) assert.fail(`${why} (the tests need the packages nftables and iptables)`)
  t.after(() => walls.remove())
  return walls
}

async function servers(t: TestContext): Promise<void> {
  const made = await Promise.all([
    serve(A, [ports.own], 'A'),
    serve(B, [ports.others, ports.unleased], 'B'),
    serve(0, [ports.page], 'page'),
  ])
  t.after(() => Promise.all(made.map((child) => new Promise((resolve) => child.once('exit', resolve) && child.kill()))))
}

/** Makes a table that the kernel lets no other process change. Answers who gives it back. */
async function takeTable(table: string): Promise<() => Promise<void>> {
  nft(`delete table ${table}`)
  const child = spawn('nft', ['-i'], { stdio: ['pipe', 'ignore', 'ignore'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.stdin.write(`add table ${table} { flags owner; }\n`)
  while (!nft('list tables').includes(table)) await new Promise((resolve) => setTimeout(resolve, 20))
  return () => {
    child.kill()
    return ended
  }
}

/** Of each way to reach the port, what came. */
async function answersOf(uid: number, port: number): Promise<readonly string[]> {
  const tries = ['127.0.0.1', '::1'].flatMap((host) => [{ protocol: 'tcp' as const, host, port }])
  return (await reach(uid, tries)).map(({ result }) => result)
}

async function medianCall(uid: number): Promise<number> {
  const tries = Array.from({ length: 200 }, () => ({ protocol: 'tcp' as const, host: '127.0.0.1', port: ports.own }))
  const times = (await reach(uid, tries)).map(({ ms }) => ms)
  return times.toSorted((a, b) => a - b)[100] ?? Number.NaN
}

async function timed(act: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await act()
  return performance.now() - began
}

function everythingElse(): readonly string[] {
  const tables = nft('list tables')
    .split('\n')
    .filter((line) => line !== '' && !line.includes('stackquay_'))
  return [...tables, nft('list table inet of_somebody'), ...iptables().filter((line) => !line.includes('stackquay_'))]
}

function nft(command: string): string {
  return execFileSync('nft', command.split(' '), { encoding: 'utf8' })
}

function iptables(): string[] {
  return execFileSync('iptables', ['-S'], { encoding: 'utf8' }).split('\n')
}

function instanceOf(number: number): string {
  return `0123456789a${number}`
}
