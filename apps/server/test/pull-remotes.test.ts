import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { encodeEntry } from '@stackquay/engine-api/tar-blocks'
import { stackquayRemote } from '../src/pulls/stackquay-remote.ts'
import { staysInside } from '../src/pulls/tar-reader.ts'

const forever = new AbortController().signal

test('a link stays inside when it goes up no further than the folder, and then only down', () => {
  for (const [path, target] of [
    ['a', 'b'],
    ['a', './b/c'],
    ['d/a', '../b'],
    ['d/e/a', '../..'],
    ['a', '.'],
  ] as const)
    assert.equal(staysInside(path, target), true, `${path} -> ${target}`)
  for (const [path, target] of [
    ['a', '/etc/passwd'],
    ['a', '..'],
    ['d/a', '../../x'],
    ['p/q/m', 'l/..'],
    ['a', 'b/../../x'],
  ] as const)
    assert.equal(staysInside(path, target), false, `${path} -> ${target}`)
})

type Kind = Parameters<typeof encodeEntry>[0]['kind']

function entry(name: string, content: Buffer | string = '', kind: Kind = 'file', link = ''): Buffer {
  const bytes = Buffer.from(content)
  const modified = Buffer.from('00000000000\0')
  const header = encodeEntry({
    name,
    link,
    mode: 0o644,
    uid: 0,
    gid: 0,
    size: bytes.length,
    modified,
    kind,
    sparse: null,
  })
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)])
}

const end = Buffer.alloc(1024)
const id = 'bak_01k9zsm7d3h8n5v2w4x6y0abcd'

/** A stand-in that answers like another Stackquay, or worse. */
async function standIn(answers: Readonly<Record<string, (response: ServerResponse) => void>>) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://x')
    asked.push(`${request.method} ${pathname}`)
    const answer = Object.entries(answers).find(([path]) => pathname.endsWith(path))?.[1]
    if (answer === undefined) response.writeHead(404).end('{"detail":"gone\\u001b[31m\\nred"}')
    else answer(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    asked,
    remote: stackquayRemote({ origin, project: 'shop', token: 'secret-token' }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const listing = (response: ServerResponse) =>
  void response.end(JSON.stringify({ items: [{ id, createdAt: 'x', parts: [{ id: 'files' }] }] }))

async function archiveOf(tar: Buffer, folder = 'app', claims?: string) {
  const { createHash } = await import('node:crypto')
  const packed = zstdCompressSync(tar)
  const sha256 = claims ?? createHash('sha256').update(packed).digest('hex')
  const manifest = JSON.stringify({ parts: [{ file: 'files.tar.zst', sha256 }] })
  const download = Buffer.concat([entry('files.tar.zst', packed), entry('manifest.json', manifest), end])
  const leftOut: string[] = []
  await using server = await standIn({
    '/backups': listing,
    [`/backups/${id}/download`]: (response) => void response.end(download),
  })
  const chunks = await Array.fromAsync(server.remote.archive(folder, (path) => leftOut.push(path), forever))
  assert.ok(server.asked.every((line) => line.startsWith('GET ')))
  return { text: Buffer.concat(chunks as Buffer[]).toString('latin1'), leftOut }
}

test('only what lies below the folder comes, links out are left out, and what would escape is refused', async () => {
  const tar = [
    entry('./app/', '', 'directory'),
    entry('./app/one.txt', 'one'),
    entry('./.env', 'SECRET'),
    entry('./application/two.txt', 'two'),
    entry('./app/out', '', 'link', '../.env'),
    entry('./app/in', '', 'link', 'one.txt'),
  ]
  const { text, leftOut } = await archiveOf(Buffer.concat([...tar, end]))
  assert.ok(text.includes('./one.txt') && text.includes('./in') && !text.includes('SECRET') && !text.includes('two'))
  assert.deepEqual(leftOut, ['out'])
  for (const bad of [entry('../out', 'x'), entry('/etc/passwd', 'x'), entry('./app/../../out', 'x')])
    await assert.rejects(archiveOf(Buffer.concat([...tar, bad, end])), /leads out of its folder/)
  const device = entry('./app/null')
  device.write('3', 156, 'latin1')
  device.fill(0x20, 148, 156)
  const sum = device.subarray(0, 512).reduce((all, byte) => all + byte, 0)
  device.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  await assert.rejects(archiveOf(Buffer.concat([...tar, device, end])), /device/)
  await assert.rejects(archiveOf(Buffer.concat(tar)), /ends too early/)
  await assert.rejects(archiveOf(Buffer.concat([...tar, end]), 'app', 'another'), /differs from its checksum/)
  await assert.rejects(archiveOf(Buffer.concat([...tar, end]), 'nothing'), /has no folder nothing/)
})

test('an answer that breaks off, redirects or is no Stackquay is none', async () => {
  await using server = await standIn({
    '/main/export': (response) => {
      response.write('CREATE TABLE half')
      setTimeout(() => response.destroy(), 20)
    },
    '/second/export': (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    '/backups': (response) => void response.end('<html>'),
  })
  const read = (database: string) => Array.fromAsync(server.remote.read({ database }, forever))
  await assert.rejects(read('main'), /broke off/)
  await assert.rejects(read('second'), /answers 302/)
  await assert.rejects(server.remote.lookFiles('app', forever), /something else than a Stackquay/)
  await assert.rejects(
    read('third'),
    (error: Error) => /answers 404: gone/.test(error.message) && !/[\u001b\n]/.test(error.message),
  )
})
