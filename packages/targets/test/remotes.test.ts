import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { openS3Remote, openSshRemote, type Remote, readHostKey, TargetError } from '@stackquay/targets'
import ssh2 from 'ssh2'

const forever = new AbortController().signal

async function walked(remote: Remote, folder: string, most = 1000): Promise<string[]> {
  const found: string[] = []
  for await (const entry of remote.walk(folder, most, forever)) found.push(`${entry.kind} ${entry.path}`)
  return found
}

function damaged(expected: RegExp) {
  return (error: unknown) => error instanceof TargetError && error.code === 'damaged' && expected.test(error.message)
}

interface Listed {
  readonly name: string
  readonly mode: number
  readonly size?: number
}

/** An SSH server that answers with whatever it is told; the protocol is real. */
async function hostileSsh(list: (path: string) => readonly Listed[] | 'endless', content = Buffer.alloc(0)) {
  const { utils, Server } = ssh2
  // Of the keys that ssh2 makes itself, one in two hundred is one that it cannot read.
  const { privateKey: hostKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const { STATUS_CODE } = utils.sftp
  const attrs = ({ mode, size = 0 }: Omit<Listed, 'name'>) => ({ mode, size, uid: 0, gid: 0, atime: 0, mtime: 0 })
  const server = new Server({ hostKeys: [hostKey] }, (client) => {
    client.on('error', () => undefined)
    client.on('authentication', (context) => context.accept())
    client.on('session', (accept) => {
      accept().on('sftp', (acceptSftp) => {
        const sftp = acceptSftp()
        const open = new Map<string, { path: string; done: boolean }>()
        const handleOf = (path: string) => {
          const handle = Buffer.from(String(open.size))
          open.set(handle.toString(), { path, done: false })
          return handle
        }
        sftp.on('STAT', (id) => sftp.attrs(id, attrs({ mode: 0o40755 })))
        sftp.on('OPENDIR', (id, path) => sftp.handle(id, handleOf(path)))
        sftp.on('OPEN', (id, path) => sftp.handle(id, handleOf(path)))
        sftp.on('CLOSE', (id) => sftp.status(id, STATUS_CODE.OK))
        sftp.on('READ', (id, _handle, offset, length) => {
          const part = content.subarray(offset, offset + length)
          if (part.length === 0) sftp.status(id, STATUS_CODE.EOF)
          else sftp.data(id, part)
        })
        sftp.on('READDIR', (id, handle) => {
          const known = open.get(handle.toString())!
          const names = list(known.path)
          if (known.done && names !== 'endless') return sftp.status(id, STATUS_CODE.EOF)
          known.done = true
          const page = names === 'endless' ? [{ name: `f${Math.random()}`, mode: 0o100644 }] : names
          sftp.name(
            id,
            page.map((one) => ({ filename: one.name, longname: one.name, attrs: attrs(one) })),
          )
        })
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const at = { host: '127.0.0.1', port }
  const remote = await openSshRemote({ ...at, user: 'anybody', hostKey: await readHostKey(at) }, { password: 'x' })
  return {
    remote,
    [Symbol.asyncDispose]: async () => {
      await remote.close()
      server.close()
    },
  }
}

test('a listing over SFTP that leads out of its folder, never ends or is too deep is refused', async () => {
  for (const name of ['../out', '/etc/passwd', 'a/b', 'a\0b', '']) {
    await using server = await hostileSsh(() => [{ name, mode: 0o100644 }])
    await assert.rejects(walked(server.remote, '/folder'), damaged(/leads out of its folder/), JSON.stringify(name))
  }
  await using endless = await hostileSsh(() => 'endless')
  await assert.rejects(walked(endless.remote, '/folder', 50), damaged(/more than 50 entries/))
  await using deep = await hostileSsh(() => [{ name: 'again', mode: 0o40755 }])
  await assert.rejects(walked(deep.remote, '/folder'), damaged(/too deep/))
})

test('links and devices are named and never followed; a file is exactly as long as was said', async () => {
  const list = (path: string): readonly Listed[] =>
    path.endsWith('/sub/')
      ? [{ name: 'short', mode: 0o100600, size: 3 }]
      : [
          { name: 'link', mode: 0o120777 },
          { name: 'device', mode: 0o20666 },
          { name: 'pipe', mode: 0o10666 },
          { name: 'sub', mode: 0o40755 },
        ]
  await using server = await hostileSsh(list, Buffer.from('longer than was said'))
  assert.deepEqual(await walked(server.remote, '/folder'), [
    'other link',
    'other device',
    'other pipe',
    'folder sub',
    'file sub/short',
  ])
  for await (const entry of server.remote.walk('/folder', 100, forever)) {
    if (entry.kind !== 'file') continue
    await assert.rejects(Array.fromAsync(entry.read(forever)), damaged(/became longer/))
  }
  await using shorter = await hostileSsh(() => [{ name: 'one', mode: 0o100600, size: 5_000_000_000 }], Buffer.from('x'))
  for await (const entry of shorter.remote.walk('/folder', 100, forever))
    if (entry.kind === 'file') await assert.rejects(Array.fromAsync(entry.read(forever)), damaged(/became shorter/))
})

test('keys of a bucket that are no paths are refused; a listing that never ends is cut off', async () => {
  let keys: readonly string[] = []
  let goesOn = false
  const server = createServer((_request, response) => {
    const contents = keys.map((key) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`).join('')
    const more = goesOn ? '<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>' : ''
    response.setHeader('content-type', 'application/xml')
    response.end(`<?xml version="1.0"?><ListBucketResult>${contents}${more}</ListBucketResult>`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const settings = { endpoint, region: 'us-east-1', bucket: 'shop', prefix: 'p', pathStyle: true }
  const remote = await openS3Remote(settings, { accessKeyId: 'a', secretAccessKey: 'b' })
  try {
    keys = ['p/f/', 'p/f/a/b.txt', 'p/f/a/c.txt', 'elsewhere/x']
    assert.deepEqual(await walked(remote, 'f'), ['folder a', 'file a/b.txt', 'file a/c.txt'])
    for (const key of ['p/f/../out', 'p/f//etc/passwd', 'p/f/a/./b', `p/f/${'a/'.repeat(60)}b`]) {
      keys = [key]
      await assert.rejects(
        walked(remote, 'f'),
        (error) => error instanceof TargetError && error.code === 'damaged',
        key,
      )
    }
    keys = ['p/f/a']
    goesOn = true
    await assert.rejects(walked(remote, 'f'), damaged(/more than 1000 entries/))
  } finally {
    await remote.close()
    server.closeAllConnections()
    server.close()
  }
})
