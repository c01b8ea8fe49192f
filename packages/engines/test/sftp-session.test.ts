import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createAhead, mostAhead, tellAhead } from '../src/native/sftp/ahead.ts'
import { startSftp } from '../src/native/sftp/start-sftp.ts'
import { createPacketCutter, PacketReader, PacketWriter, packets, statuses } from '../src/native/sftp/wire.ts'

const isRoot = process.getuid?.() === 0
const account = isRoot ? { uid: 65533, gid: 65533 } : null
const flags = { read: 1, write: 2, create: 8, truncate: 16 }

const ask = {
  init: () => new PacketWriter(packets.init, 3).end(),
  open: (id: number, path: string, how: number) =>
    new PacketWriter(packets.open, id).text(path).uint32(how).uint32(0).end(),
  read: (id: number, handle: number, offset: number, length: number) =>
    new PacketWriter(packets.read, id).string(named(handle)).uint64(offset).uint32(length).end(),
  write: (id: number, handle: number, offset: number, text: string) =>
    new PacketWriter(packets.write, id).string(named(handle)).uint64(offset).text(text).end(),
  fstat: (id: number, handle: number) => new PacketWriter(packets.fstat, id).string(named(handle)).end(),
  close: (id: number, handle: number) => new PacketWriter(packets.close, id).string(named(handle)).end(),
  lstat: (id: number, path: string) => new PacketWriter(packets.lstat, id).text(path).end(),
}

function named(handle: number): Buffer {
  const name = Buffer.alloc(4)
  name.writeUInt32BE(handle)
  return name
}

/** A client, without or with the answers from beside the process. */
interface Session {
  readonly child: ChildProcess
  send(...chunks: readonly Buffer[]): void
  /** What is not the protocol, so nobody counts it. */
  breaks(bytes: Buffer): void
  /** So many answers, in order. */
  answers(count: number): Promise<readonly Buffer[]>
  /** How many packets the process was sent, except silent ones. */
  asked(): number
}

async function session(root: string, ahead: boolean): Promise<Session> {
  const child = await startSftp({ account, root, linkFirst: false, ahead, compiled: null })
  child.stderr?.resume()
  for (const pipe of [child.stdin, child.stdout]) pipe?.on('error', () => {})
  const came: Buffer[] = []
  let asked = 0
  let waiting = { for: 0, done: () => {} }
  const cut = createPacketCutter((packet) => {
    if (came.push(Buffer.from(packet)) >= waiting.for) waiting.done()
  })
  const count = createPacketCutter((packet) => {
    if (packet[0] !== packets.closeSilently) asked += 1
  })
  const between = createAhead({ answer: cut, takes: () => true, now: () => performance.now() })
  child.stdout!.on('data', (chunk: Buffer) => {
    for (const part of ahead ? between.fromProcess(chunk) : [chunk]) cut(part)
  })
  return {
    child,
    asked: () => asked,
    breaks: (bytes) => void child.stdin!.write(bytes),
    send: (...chunks) => {
      for (const chunk of chunks)
        for (const part of ahead ? between.fromClient(chunk) : [chunk]) {
          count(part)
          child.stdin!.write(part)
        }
    },
    answers: async (wanted) => {
      if (came.length < wanted) await new Promise<void>((done) => (waiting = { for: wanted, done }))
      return came.splice(0, wanted)
    },
  }
}

describe('a session of SFTP', { timeout: 120_000 }, () => {
  let root: string
  const open: Session[] = []
  const start = async (ahead: boolean, folder = root) => {
    const one = await session(folder, ahead)
    open.push(one)
    one.send(ask.init())
    await one.answers(1)
    return one
  }

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'stackquay-sftp-'))
    await writeFile(join(root, 'small'), 'small file\n')
    await writeFile(join(root, 'large'), Buffer.alloc(4 << 20, 'large'))
    await chmod(root, 0o755)
    if (isRoot) for (const path of [root, join(root, 'small'), join(root, 'large')]) await chown(path, 65533, 65533)
  })
  after(async () => {
    for (const { child } of open) child.kill('SIGKILL')
    await rm(root, { recursive: true, force: true })
  })

  it('asks the process once for a small file: the rest is answered beside it, and the file is closed', async () => {
    const one = await start(true)
    const before = one.asked()
    one.send(ask.open(1, '/small', flags.read))
    const [handle] = await one.answers(1)
    const number = new PacketReader(handle!, 5).bytes().readUInt32BE()
    one.send(
      ask.fstat(2, number),
      ask.read(3, number, 0, 32_768),
      ask.read(4, number, 11, 32_768),
      ask.close(5, number),
    )
    const [attributes, data, end, closed] = await one.answers(4)
    assert.equal(one.asked() - before, 1)
    assert.deepEqual([attributes![0], attributes!.readUInt32BE(1)], [packets.attrs, 2])
    assert.equal(new PacketReader(data!, 5).text(), 'small file\n')
    assert.deepEqual([end![0], end!.readUInt32BE(1), end!.readUInt32BE(5)], [packets.status, 4, statuses.endOfFile])
    assert.deepEqual([closed![0], closed!.readUInt32BE(1), closed!.readUInt32BE(5)], [packets.status, 5, statuses.ok])
    // What comes next takes the end of the file along.
    one.send(ask.lstat(6, '/small'), ask.read(7, number, 0, 10))
    const [, gone] = await one.answers(2)
    assert.deepEqual([gone![0], gone!.readUInt32BE(5)], [packets.status, statuses.failure])
    if (isRoot && process.platform === 'linux') {
      const files = await readdir(`/proc/${one.child.pid}/fd`)
      const leads = await Promise.all(files.map((fd) => readlink(`/proc/${one.child.pid}/fd/${fd}`)))
      assert.ok(!leads.some((path) => path.endsWith('/small')))
    }
  })

  it('sees in a file what it wrote there itself after it was opened', async () => {
    const one = await start(true)
    one.send(ask.open(1, '/small', flags.write))
    one.send(ask.open(2, '/small', flags.read))
    await one.answers(2)
    one.send(ask.write(3, 1, 0, 'SMALL'), ask.read(4, 2, 0, 100))
    const [, data] = await one.answers(2)
    assert.equal(new PacketReader(data!, 5).text(), 'SMALL file\n')
    // The same in one chunk, with the opening.
    one.send(Buffer.concat([ask.open(5, '/small', flags.read), ask.write(6, 1, 0, 'small'), ask.read(7, 3, 0, 100)]))
    const [, , again] = await one.answers(3)
    assert.equal(new PacketReader(again!, 5).text(), 'small file\n')
  })

  it('answers the same as the process alone, whatever is asked and however it is cut', async () => {
    const folders = [join(root, 'one'), join(root, 'other')]
    for (const folder of folders) {
      await mkdir(folder)
      for (const name of ['a', 'b', 'c'])
        await writeFile(join(folder, name), name.repeat(name === 'c' ? mostAhead + 1 : 50))
      if (isRoot)
        for (const path of [folder, ...['a', 'b', 'c'].map((name) => join(folder, name))])
          await chown(path, 65533, 65533)
    }
    const [near, plain] = [await start(true, folders[0]), await start(false, folders[1])]
    const random = randomOf(7)
    let opened = 0
    for (let turn = 0; turn < 400; turn += 1) {
      const burst: Buffer[] = []
      for (let count = random(3) + 1; count > 0; count -= 1) {
        const id = turn * 10 + count
        const handle = Math.max(1, opened - random(3))
        const name = ['/a', '/b', '/c', '/none'][random(4)]!
        const kind = random(8)
        if (kind < 2) burst.push(ask.open(id, name, [flags.read, flags.read, 3][random(3)]!))
        else if (kind < 5) burst.push(ask.read(id, handle, [0, 0, 50, 20][random(4)]!, [100, 32_768, 10][random(3)]!))
        else
          burst.push(
            [ask.write(id, handle, random(60), `${turn}`), ask.close(id, handle), ask.lstat(id, name)][kind - 5]!,
          )
        if (kind < 2 && name !== '/none') opened += 1
      }
      const bytes = Buffer.concat(burst)
      const at = random(bytes.length + 1)
      for (const one of [near, plain]) one.send(bytes.subarray(0, at), bytes.subarray(at))
      const [found, expected] = [await near.answers(burst.length), await plain.answers(burst.length)]
      assert.deepEqual(found.map(withoutTimes), expected.map(withoutTimes), `turn ${turn}`)
    }
    assert.ok(near.asked() < plain.asked(), 'nothing was answered beside the process')
  })

  it('keeps little of what a client asks for and does not read, and answers all of it in order', async () => {
    const one = await start(false)
    one.child.stdout!.pause()
    one.send(ask.open(1, '/large', flags.read))
    // A quarter of a gigabyte of answers to 29 KB of questions.
    const count = 1000
    one.send(Buffer.concat(Array.from({ length: count }, (_, index) => ask.read(index + 2, 1, index, 256 << 10))))
    await new Promise((resolve) => setTimeout(resolve, 500))
    if (process.platform === 'linux') {
      const held = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${one.child.pid}/status`, 'utf8'))
      assert.ok(Number(held?.[1]) < 150_000, `${held?.[1]} kB`)
    }
    one.child.stdout!.resume()
    const answers = await one.answers(count + 1)
    assert.deepEqual(
      answers.map((answer) => answer.readUInt32BE(1)),
      Array.from({ length: count + 1 }, (_, index) => index + 1),
    )
  })

  it('ends with its input, and after what breaks the protocol, which it answers up to there', async () => {
    const one = await start(false)
    const ended = once(one.child, 'close')
    one.child.stdin!.end(ask.lstat(1, '/small'))
    await one.answers(1)
    assert.deepEqual(await ended, [0, null])
    const other = await start(true)
    const broken = once(other.child, 'close')
    other.breaks(Buffer.concat([ask.lstat(1, '/small'), Buffer.alloc(8, 0xff)]))
    await other.answers(1)
    assert.deepEqual(await broken, [1, null])
  })
})

describe('what is told with an open file', () => {
  const told = tellAhead(named(1), Buffer.from('attributes'), Buffer.from('0123456789'))
  const made = () => {
    const state = { now: 0, takes: true, answers: [] as Buffer[] }
    const ahead = createAhead({
      answer: (packet) => void state.answers.push(packet),
      takes: () => state.takes,
      now: () => state.now,
    })
    ahead.fromClient(ask.open(1, '/x', flags.read))
    const passed = ahead.fromProcess(Buffer.concat([new PacketWriter(packets.handle, 1).string(named(1)).end(), told]))
    assert.equal(Buffer.concat(passed)[4], packets.handle)
    assert.equal(Buffer.concat(passed).length, 17)
    return { state, ahead }
  }
  const passes = (ahead: ReturnType<typeof createAhead>, ...asked: readonly Buffer[]) =>
    Buffer.concat(asked.flatMap((one) => [...ahead.fromClient(one)]))

  it('counts for a moment, for a client that takes what it is sent, for each byte once and in order', () => {
    const read = ask.read(2, 1, 0, 4)
    const late = made()
    late.state.now = 101
    assert.deepEqual(passes(late.ahead, read), read)
    const full = made()
    full.state.takes = false
    assert.deepEqual(passes(full.ahead, read), read)
    const twice = made()
    assert.deepEqual(passes(twice.ahead, read, read), read)
    assert.equal(twice.state.answers.length, 1)
    const ordered = made()
    assert.equal(
      passes(ordered.ahead, read, ask.read(3, 1, 4, 4), ask.read(4, 1, 8, 4), ask.read(5, 1, 10, 4)).length,
      0,
    )
    assert.deepEqual(
      ordered.state.answers.slice(0, 3).map((answer) => new PacketReader(answer, 9).text()),
      ['0123', '4567', '89'],
    )
    assert.equal(ordered.state.answers[3]!.readUInt32BE(9), statuses.endOfFile)
  })

  it('ends with any other question, another handle, and one that was asked before it came', () => {
    const read = ask.read(3, 1, 0, 4)
    for (const other of [ask.lstat(2, '/y'), ask.write(2, 1, 0, 'x'), ask.read(2, 2, 0, 4), ask.close(2, 2)]) {
      const { ahead, state } = made()
      assert.deepEqual(passes(ahead, other, read), Buffer.concat([other, read]))
      assert.equal(state.answers.length, 0)
    }
    const { ahead, state } = made()
    passes(ahead, ask.open(2, '/x', flags.read), ask.lstat(3, '/y'))
    ahead.fromProcess(Buffer.concat([new PacketWriter(packets.handle, 2).string(named(1)).end(), told]))
    assert.deepEqual(passes(ahead, read), read)
    assert.equal(state.answers.length, 0)
  })

  it('is found wherever the stream is cut, and all else passes as it came', () => {
    const stream = Buffer.concat([
      new PacketWriter(packets.handle, 1).string(named(1)).end(),
      told,
      new PacketWriter(packets.data, 2).string(Buffer.alloc(300, 240)).end(),
    ])
    const whole = Buffer.concat([stream.subarray(0, 17), stream.subarray(17 + told.length)])
    for (let at = 0; at <= stream.length; at += 1) {
      const ahead = createAhead({ answer: () => {}, takes: () => true, now: () => 0 })
      const passed = [stream.subarray(0, at), stream.subarray(at)].flatMap((part) => [...ahead.fromProcess(part)])
      assert.deepEqual(Buffer.concat(passed), whole, `at ${at}`)
    }
    const { ahead } = made()
    const noise = Buffer.from('00000000ffffffff05', 'hex')
    assert.deepEqual(passes(ahead, noise, noise), Buffer.concat([noise, noise]))
  })

  it('closes a file once: with what is asked next, or when nothing is', () => {
    const silent = new PacketWriter(packets.closeSilently, 0).string(named(1)).end()
    const next = made()
    assert.equal(passes(next.ahead, ask.close(2, 1)).length, 0)
    assert.deepEqual(passes(next.ahead, ask.lstat(3, '/y')), Buffer.concat([silent, ask.lstat(3, '/y')]))
    assert.equal(next.ahead.closed(), null)
    const idle = made()
    passes(idle.ahead, ask.close(2, 1))
    assert.deepEqual(idle.ahead.closed(), silent)
    assert.equal(idle.ahead.closed(), null)
  })
})

/** Attributes hold times, which differ between two folders. */
function withoutTimes(answer: Buffer): Buffer {
  return answer[0] === packets.attrs ? answer.subarray(0, 29) : answer
}

/** The same numbers in each run. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
}
