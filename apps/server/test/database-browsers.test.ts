import assert from 'node:assert/strict'
import { createServer, type Server, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Browser } from '@stackquay/catalog/browser/open-browser'
import { createBrowsers } from '../src/database-browser/browsers.ts'

const never = new AbortController().signal
const servers: Server[] = []
const sockets = new Set<Socket>()
const browsers: Browser[] = []

after(async () => {
  for (const browser of browsers) await browser.end()
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
})

/** A project’s idea of a database. */
async function hostile(handle: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    handle(socket)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as { port: number }).port
}

function open(kind: string, port: number): Browser {
  const reader = { username: 'reader', password: 'x' }
  const connection = { host: '127.0.0.1', port, database: 'd', username: 'u', password: 'p', reader }
  const browser = createBrowsers().use(kind, { of: 'sql', kind, connection })
  browsers.push(browser)
  return browser
}

const flood = (head: Buffer) => (socket: Socket) => {
  const chunk = Buffer.alloc(1 << 20, 1)
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.write(head)
  socket.on('drain', more)
  more()
}

describe('servers that are none', { concurrency: 1 }, () => {
  it('one that sends without end costs its own process and no more', { timeout: 60_000 }, async () => {
    // A message of 1 GB.
    const postgres = Buffer.from([0x52, 0x40, 0, 0, 0])
    // A packet of 16 MB, and the next.
    const family = Buffer.from([0xff, 0xff, 0xff, 0])
    for (const [kind, head] of [
      ['postgresql', postgres],
      ['mariadb', family],
    ] as const) {
      const browser = open(kind, await hostile(flood(head)))
      const before = process.memoryUsage.rss()
      await assert.rejects(browser.call('schema', [], never), /64 MiB|too much|connection|packet/i, kind)
      assert.ok(process.memoryUsage.rss() - before < 50 * 1024 * 1024)
      for (const socket of sockets) socket.destroy()
    }
  })

  it('one that says nothing, or nonsense, is an error in time', { timeout: 60_000 }, async () => {
    const each = async (kind: string) => {
      const begun = Date.now()
      const silent = open(kind, await hostile(() => undefined))
      await assert.rejects(silent.call('schema', [], never), { code: 'unreachable' })
      assert.ok(Date.now() - begun < 15_000, kind)
      const nonsense = open(kind, await hostile((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhello')))
      await assert.rejects(nonsense.call('schema', [], never), { name: 'BrowseError' })
    }
    await Promise.all([each('postgresql'), each('mariadb')])
  })

  it('as many as there may be, the idlest goes, and one that is not used ends', async () => {
    const made: { ended: boolean; busy: number }[] = []
    const open = () => {
      const one = { ended: false, busy: 0 }
      made.push(one)
      const end = async () => {
        one.ended = true
      }
      return { busy: () => one.busy, end } as unknown as Browser
    }
    const pool = createBrowsers({ open: open as never, most: 2, idleMs: 50 })
    const purpose = (port: number) =>
      ({ of: 'keys', kind: 'x', connection: { host: 'h', port, username: null, password: null } }) as const
    const first = pool.use('a', purpose(1))
    assert.equal(pool.use('a', purpose(1)), first)
    // Another password or port: another process.
    assert.notEqual(pool.use('a', purpose(2)), first)
    assert.deepEqual(
      made.map(({ ended }) => ended),
      [true, false],
    )
    pool.use('b', purpose(1))
    pool.use('c', purpose(1))
    assert.deepEqual(
      made.map(({ ended }) => ended),
      [true, true, false, false],
    )
    for (const one of made) one.busy = 1
    assert.throws(() => pool.use('d', purpose(1)), { code: 'unavailable' })
    for (const one of made) one.busy = 0
    await delay(300)
    assert.ok(made.every(({ ended }) => ended))
  })
})
