import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createPrivateKey, randomBytes, sign } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { duplexPair } from 'node:stream'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isProof } from '../src/ssh/key-proof.ts'
import { createLink, frames } from '../src/ssh/protocol/link.ts'
import { fromProtocol } from '../src/ssh/protocol/messages.ts'

function pair() {
  const [a, b] = duplexPair()
  const ended: (Error | null)[] = []
  const told: unknown[] = []
  const options = {
    onMessage: (message: unknown) => void told.push(message),
    onEnd: (e: Error | null) => void ended.push(e),
  }
  return { near: createLink(a, options), far: createLink(b, options), raw: a, ended, told }
}

describe('the link between the service and the process of SSH', () => {
  test('carries bytes whole and in order, and how it ended after them', async () => {
    const { near, far, told } = pair()
    const from = near.open(1, { beforeEnd: () => near.send({ is: 'exit' }) })
    const to = far.open(1)
    const bytes = randomBytes(3_000_000)
    from.end(bytes)
    const parts: Buffer[] = []
    for await (const part of to.iterator({ destroyOnReturn: false })) parts.push(part as Buffer)
    assert.ok(Buffer.concat(parts).equals(bytes))
    assert.deepEqual(told, [{ is: 'exit' }])
  })

  test('holds the writer of a channel that nobody reads, and no other', async () => {
    const { near, far } = pair()
    const [slow, quick] = [near.open(1), near.open(2)]
    const [held, read] = [far.open(1), far.open(2)]
    let done = false
    slow.write(Buffer.alloc(5_000_000), () => {
      done = true
    })
    quick.end('through')
    const [text] = await read.toArray()
    assert.equal(String(text), 'through')
    await sleep(50)
    assert.equal(done, false)
    assert.ok(held.readableLength <= 320 << 10, `${held.readableLength} bytes are held`)
    held.resume()
    while (!done) await sleep(5)
  })

  test('listens no more to whoever sends more than there is room for, or what no frame is', async () => {
    const over = pair()
    over.far.open(1)
    for (let at = 0; at < 6; at += 1) {
      const head = Buffer.alloc(9)
      head[0] = frames.data
      head.writeUInt32BE(1, 1)
      head.writeUInt32BE(64 << 10, 5)
      over.raw.write(Buffer.concat([head, Buffer.alloc(64 << 10)]))
    }
    const long = pair()
    long.raw.write(Buffer.from([frames.data, 0, 0, 0, 1, 255, 255, 255, 255]))
    const noJson = pair()
    noJson.raw.write(Buffer.from([frames.message, 0, 0, 0, 0, 0, 0, 0, 1, 123]))
    await sleep(50)
    for (const { ended } of [over, long, noJson]) assert.ok(ended[0] instanceof Error)
  })

  test('takes from the process what a message is, and nothing else', () => {
    const start = { is: 'start', connection: 1, channel: 2, program: { kind: 'shell' }, env: {}, pty: null }
    assert.ok(fromProtocol.safeParse(start).success)
    for (const wrong of [
      { ...start, channel: -1 },
      { ...start, more: 1 },
      { ...start, program: { kind: 'anything' } },
      { is: 'accept', connection: 1 },
      { is: 'forward', connection: 1, ask: 1, host: 'x', port: 70_000 },
      { is: 'attempt', connection: 1, ask: 1, user: 'shop', by: { kind: 'trusted', key: 'key_1' } },
    ])
      assert.equal(fromProtocol.safeParse(wrong).success, false, JSON.stringify(wrong))
  })
})

/** The service looks at proofs itself: whoever speaks SSH for it cannot say that somebody proved a key. */
test('a proof of a key is for its user, its key and its service alone', async (t) => {
  const work = await mkdtemp(join(tmpdir(), 'stackquay-proof-'))
  t.after(() => rm(work, { recursive: true }))
  const own = join(work, 'own')
  await promisify(execFile)('ssh-keygen', ['-q', '-t', 'rsa', '-b', '2048', '-m', 'PEM', '-N', '', '-f', own])
  const publicKey = (await readFile(`${own}.pub`, 'utf8')).split(' ').slice(0, 2).join(' ')
  const blob = Buffer.from(publicKey.split(' ')[1]!, 'base64')
  const field = (value: Buffer | string) => {
    const bytes = Buffer.from(value as string)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    return Buffer.concat([length, bytes])
  }
  const request = (user: string, service = 'ssh-connection', key = blob) =>
    Buffer.concat([
      field(randomBytes(32)),
      Buffer.from([50]),
      ...[user, service, 'publickey'].map(field),
      Buffer.from([1]),
      field('rsa-sha2-256'),
      field(key),
    ])
  const privateKey = createPrivateKey(await readFile(own))
  const offered = (signed: Buffer, hash: string | null = 'sha256') => ({
    kind: 'key' as const,
    algorithm: 'ssh-rsa',
    key: blob.toString('base64'),
    hash,
    proof: { signed: signed.toString('base64'), signature: sign('sha256', signed, privateKey).toString('base64') },
  })
  assert.equal(isProof(offered(request('shop')), publicKey, 'shop'), true)
  assert.equal(isProof(offered(request('shop')), publicKey, 'blog'), false)
  assert.equal(isProof(offered(request('shop', 'other')), publicKey, 'shop'), false)
  assert.equal(isProof(offered(request('shop', 'ssh-connection', randomBytes(40))), publicKey, 'shop'), false)
  assert.equal(isProof(offered(request('shop'), null), publicKey, 'shop'), false)
  assert.equal(isProof(offered(request('shop'), 'sha512'), publicKey, 'shop'), false)
  assert.equal(isProof(offered(Buffer.alloc(3)), publicKey, 'shop'), false)
  assert.equal(isProof({ ...offered(request('shop')), proof: null }, publicKey, 'shop'), false)
  assert.equal(isProof(offered(request('shop')), `ssh-rsa ${randomBytes(60).toString('base64')}`, 'shop'), false)
})
