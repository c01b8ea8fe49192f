import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { healthChecker } from '../src/native/health.ts'
import type { Machine } from '../src/native/machine.ts'
import type { Listener } from '../src/native/process-table.ts'

const never = new AbortController().signal

/** A port at which something answers, and a process table in which nobody holds it; `looks` are what it lists one time after the other. */
async function check(t: TestContext, looks: (port: number) => readonly (readonly Listener[])[]) {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const all = looks(port)
  let next = 0
  const table = {
    bootId: () => 'boot',
    list: () => [],
    listeners: () => all[Math.min(next++, all.length - 1)]!,
    holding: () => null,
    stillHolds: () => false,
  }
  const ports = [{ name: 'http', port, hostPort: port, bind: '127.0.0.1' }] as const
  const leader = { pid: 1, startTime: '1', bootId: 'boot' }
  const checked = healthChecker({ home: '/nowhere', table } as unknown as Machine, leader, ports, {
    ...{ kind: 'tcp', port: 'http', intervalSeconds: 1, timeoutSeconds: 1, failures: 1 },
  })
  return { port, result: await checked(never) }
}

const socket = (port: number, inode: string): Listener => ({ address: '127.0.0.1', port, inode, uid: 0 })

test('a program that ended between the look at the sockets and the look at who holds them is not another one', async (t) => {
  const { port, result } = await check(t, (port) => [[socket(port, '7')], []])
  assert.deepEqual(result, { ok: false, reason: `Nothing listens on port ${port} any more.`, foreign: null })
  const again = await check(t, (port) => [[socket(port, '7')], [socket(port, '8')]])
  assert.equal(again.result.ok || again.result.foreign, null)
})

test('a socket that stays and that no process is seen to hold is that of another program', async (t) => {
  const { port, result } = await check(t, (port) => [[socket(port, '7')]])
  const foreign = { pid: null, program: null, ref: null }
  assert.deepEqual(result, { ok: false, reason: `Port ${port} is held by another program.`, foreign })
})
