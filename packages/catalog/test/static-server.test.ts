import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { programFile } from '../src/folders.ts'

let base: string
let plain: Server
let fallback: Server

before(async () => {
  base = await mkdtemp(join(tmpdir(), 'stackquay-static-'))
  const root = join(base, 'site')
  const put = (path: string, text: string) => {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  put('index.html', '<h1>home</h1>')
  put('numbers.txt', '0123456789')
  put('empty.txt', '')
  put('sub/index.html', 'sub')
  put('sub dir/é.txt', 'accent')
  put('bare/file.bin', 'x')
  put('.env', 'SECRET=1')
  put('.git/config', 'secret')
  put('stackquay.yml', 'env: {}')
  put('.well-known/security.txt', 'Contact: x')
  put('app/.hidden/index.html', 'hidden')
  writeFileSync(join(base, 'outside.txt'), 'outside')
  mkdirSync(join(base, 'site-other'))
  writeFileSync(join(base, 'site-other', 'x.txt'), 'other')
  symlinkSync(join(base, 'outside.txt'), join(root, 'leak.txt'))
  symlinkSync(base, join(root, 'up'))
  symlinkSync(join(base, 'site-other'), join(root, 'neighbour'))
  symlinkSync(join(root, '.env'), join(root, 'env.txt'))
  symlinkSync(join(root, 'numbers.txt'), join(root, 'inside.txt'))
  execFileSync('mkfifo', [join(root, 'pipe')])
  utimesSync(join(root, 'numbers.txt'), 1_700_000_000, 1_700_000_000)
  plain = await started(root)
  fallback = await started(root, '--spa-fallback')
})

after(async () => {
  await Promise.all([plain?.stop(), fallback?.stop()])
  rmSync(base, { recursive: true, force: true })
})

describe('The static server', () => {
  test('answers files with their type, folders with their index, and HEAD without a body', async () => {
    const home = await plain.get('/')
    assert.deepEqual(
      [home.status, home.body, home.headers['content-type']],
      [200, '<h1>home</h1>', 'text/html; charset=utf-8'],
    )
    assert.equal((await plain.get('/sub/')).body, 'sub')
    assert.equal((await plain.get('/sub%20dir/%C3%A9.txt?v=1')).body, 'accent')
    assert.equal((await plain.get('/bare/file.bin')).headers['content-type'], 'application/octet-stream')
    assert.equal((await plain.get('/inside.txt')).body, '0123456789')
    assert.equal((await plain.get('/.well-known/security.txt')).body, 'Contact: x')
    const head = await plain.get('/numbers.txt', {}, 'HEAD')
    assert.deepEqual([head.status, head.body, head.headers['content-length']], [200, '', '10'])
    assert.equal((await plain.get('/empty.txt')).headers['content-length'], '0')
  })

  test('sends nothing from outside its folder and no hidden name, however it is asked', async () => {
    const paths = [
      '/../outside.txt',
      '/..%2foutside.txt',
      '/%2e%2e/outside.txt',
      '/%2e%2e%2foutside.txt',
      '/sub/../../outside.txt',
      '/..%5coutside.txt',
      '/..\\outside.txt',
      '/%00',
      '/numbers.txt%00.html',
      '/%c0%ae%c0%ae/outside.txt',
      '/%',
      '/%zz',
      '/../site-other/x.txt',
      '/leak.txt',
      '/up/outside.txt',
      '/neighbour/x.txt',
      '/env.txt',
      '/.env',
      '/%2eenv',
      '/.git/config',
      '/app/.hidden/',
      '/stackquay.yml',
      '/pipe',
      '/numbers.txt/',
      '/numbers.txt/x',
      '//etc/passwd',
      '/etc/passwd',
      `/${'a'.repeat(5000)}`,
      `/${'a/'.repeat(3000)}`,
    ]
    for (const path of paths) {
      const { status, body } = await plain.get(path)
      assert.equal(status, 404, path)
      assert.doesNotMatch(body, /outside<|^outside|^other|SECRET|secret/, path)
    }
    assert.match(
      await plain.raw('GET http://elsewhere/outside.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
      / 404 /,
    )
    assert.match(await plain.raw('GET numbers.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'), / 4\d\d /)
  })

  test('escapes what it repeats in a page', async () => {
    const { body } = await plain.get('/<script>alert(1)</script>')
    assert.doesNotMatch(body, /<script>/)
  })

  test('leads to a folder’s slash, never to another host', async () => {
    const redirect = async (path: string) => {
      const { status, headers } = await plain.get(path)
      return [status, headers.location]
    }
    assert.deepEqual(await redirect('/sub?a=b'), [301, '/sub/?a=b'])
    assert.deepEqual(await redirect('//sub'), [301, '/sub/'])
    assert.deepEqual(await redirect('/sub%20dir'), [301, '/sub%20dir/'])
  })

  test('helps where a folder has no index', async () => {
    const { status, body } = await plain.get('/bare/')
    assert.equal(status, 404)
    assert.match(body, /no index\.html/)
  })

  test('answers only GET and HEAD', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers } = await plain.get('/', {}, method)
      assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'])
    }
  })

  test('says that a copy is still right, and sends the new file when it is not', async () => {
    const { headers } = await plain.get('/numbers.txt')
    const etag = headers.etag!
    const status = async (more: Record<string, string>) => (await plain.get('/numbers.txt', more)).status
    assert.equal(await status({ 'If-None-Match': etag }), 304)
    assert.equal(await status({ 'If-None-Match': `"x", W/${etag}` }), 304)
    assert.equal(await status({ 'If-None-Match': '*' }), 304)
    assert.equal(await status({ 'If-None-Match': '"x"', 'If-Modified-Since': headers['last-modified']! }), 200)
    assert.equal(await status({ 'If-Modified-Since': headers['last-modified']! }), 304)
    assert.equal(await status({ 'If-Modified-Since': 'Mon, 01 Jan 2001 00:00:00 GMT' }), 200)
    assert.equal(await status({ 'If-Modified-Since': 'nonsense' }), 200)
  })

  test('sends the part that is asked for', async () => {
    const part = async (range: string, more = {}) => {
      const { status, body, headers } = await plain.get('/numbers.txt', { Range: range, ...more })
      return [status, body, headers['content-range']]
    }
    assert.deepEqual(await part('bytes=2-4'), [206, '234', 'bytes 2-4/10'])
    assert.deepEqual(await part('bytes=7-'), [206, '789', 'bytes 7-9/10'])
    assert.deepEqual(await part('bytes=-3'), [206, '789', 'bytes 7-9/10'])
    assert.deepEqual(await part('bytes=-99'), [206, '0123456789', 'bytes 0-9/10'])
    assert.deepEqual(await part('bytes=5-999'), [206, '56789', 'bytes 5-9/10'])
    assert.deepEqual(await part('bytes=10-'), [416, '', 'bytes */10'])
    assert.deepEqual(await part('bytes=-0'), [416, '', 'bytes */10'])
    for (const range of ['bytes=4-2', 'bytes=-', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=a-b']) {
      assert.deepEqual(await part(range), [200, '0123456789', undefined], range)
    }
    assert.deepEqual(await part('bytes=0-1', { 'If-Range': '"old"' }), [200, '0123456789', undefined])
    assert.equal((await plain.get('/empty.txt', { Range: 'bytes=0-' })).status, 416)
  })

  test('routes unknown pages to index.html when asked to, but no assets', async () => {
    assert.deepEqual(await shortly(fallback.get('/some/route')), [200, '<h1>home</h1>'])
    assert.deepEqual(await shortly(fallback.get('/v1.2/route', { Accept: 'text/html' })), [200, '<h1>home</h1>'])
    assert.equal((await fallback.get('/missing.js')).status, 404)
    assert.equal((await fallback.get('/..%2foutside.txt', { Accept: 'text/html' })).status, 404)
  })

  test('holds back when a client reads slowly, and survives one that goes away', async () => {
    const size = 80 * 1024 * 1024
    writeFileSync(join(base, 'site', 'large.bin'), Buffer.alloc(size))
    const sockets = Array.from({ length: 8 }, () => {
      const socket = connect(plain.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.pause()
      socket.write('GET /large.bin HTTP/1.1\r\nHost: x\r\n\r\n')
      return socket
    })
    await new Promise((resolve) => setTimeout(resolve, 500))
    const memory = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(plain.child.pid)], { encoding: 'utf8' }))
    assert.ok(memory < 160 * 1024, `${memory} KB are held`)
    for (const socket of sockets) socket.destroy()
    assert.equal((await plain.get('/')).status, 200)
  })

  test('finishes what it is sending when it is told to stop', async () => {
    const server = await started(join(base, 'site'))
    const whole = server.get('/large.bin')
    await new Promise((resolve) => setTimeout(resolve, 20))
    server.child.kill('SIGTERM')
    assert.equal((await whole).length, 80 * 1024 * 1024)
    assert.deepEqual(await server.ended, [0, null])
  })

  test('says what is wrong when it cannot serve', async () => {
    for (const args of [
      [],
      ['--root', join(base, 'nowhere'), '--port', '0'],
      ['--root', join(base, 'outside.txt'), '--port', '0'],
    ]) {
      const child = spawn(process.execPath, [programFile('static-server'), ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let text = ''
      child.stderr.on('data', (chunk) => {
        text += chunk
      })
      const [code] = await once(child, 'close')
      assert.notEqual(code, 0)
      assert.match(text, /Usage|cannot be served/)
      assert.doesNotMatch(text, /at .*\.ts:/)
    }
  })
})

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
  readonly length: number
}

interface Server {
  readonly port: number
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
  get(path: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<Answer>
  raw(text: string): Promise<string>
  stop(): Promise<void>
}

async function started(root: string, ...more: string[]): Promise<Server> {
  const args = [programFile('static-server'), '--root', root, '--port', '0', ...more]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  child.stdout.setEncoding('utf8')
  const [line] = (await once(child.stdout, 'data')) as [string]
  const port = Number(/:(\d+)\s*$/.exec(line)?.[1])
  const ended = once(child, 'exit')
  return {
    port,
    child,
    ended,
    get: (path, headers = {}, method = 'GET') =>
      new Promise((resolve, reject) => {
        const outgoing = request({ host: '127.0.0.1', port, path: '/', method, headers, agent: false }, (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
          response.on('end', () => {
            const body = Buffer.concat(chunks)
            const { statusCode = 0, headers: answered } = response
            resolve({
              status: statusCode,
              headers: answered as Answer['headers'],
              body: body.length < 100_000 ? body.toString() : '',
              length: body.length,
            })
          })
        })
        // Exactly as given: the client library would refuse or tidy up what a hostile one sends.
        outgoing.path = path
        outgoing.on('error', reject).end()
      }),
    raw: (text) =>
      new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => socket.write(text))
        let answer = ''
        socket
          .on('data', (chunk) => {
            answer += chunk
          })
          .on('error', reject)
        socket.on('close', () => resolve(answer))
      }),
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function shortly(answer: Promise<Answer>) {
  const { status, body } = await answer
  return [status, body]
}
