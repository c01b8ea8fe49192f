import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Browser } from '@stackquay/testkit'
import { rounds } from '@stackquay/testkit/rounds'
import { assertLooks, openPage } from './support/page.ts'
import { race } from './support/racers.ts'
import { admin, type Service, startService, until } from './support/service.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0

/** What lies outside may be read and written by anybody of the machine: only the root keeps it. */
describe('files of a project', { timeout: 300_000 }, () => {
  let service: Service
  let root: SourceRoot
  let outside: string
  let folder: string
  let uid: number
  let browser: Browser

  const raw = (
    method: string,
    path: string,
    {
      headers = {},
      body,
      token = service.token,
    }: { headers?: Record<string, string>; body?: string; token?: string } = {},
  ) =>
    fetch(`${service.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(body === undefined ? {} : { body }),
    })
  const at = (path: string) => `/projects/shop/files${path}`
  const put = (path: string, text: string, headers: Record<string, string>) =>
    raw('PUT', at(`/content?path=${encodeURIComponent(path)}`), {
      headers: { 'content-type': 'application/octet-stream', ...headers },
      body: text,
    })
  const get = (path: string, headers: Record<string, string> = {}) =>
    raw('GET', at(`/content?path=${encodeURIComponent(path)}`), { headers })
  const remove = (path: string) => raw('DELETE', at(`?path=${encodeURIComponent(path)}`))
  const send = (path: string, body: object) =>
    raw('POST', at(path), { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const list = (path: string, more = '') => raw('GET', at(`?path=${encodeURIComponent(path)}${more}`))
  const create = { 'if-none-match': '*' }

  before(async () => {
    root = await makeSourceRoot()
    outside = await realpath(await mkdtemp(join(tmpdir(), 'stackquay-outside-')))
    await mkdir(join(outside, 'sub'))
    await writeFile(join(outside, 'secret'), 'CANARY\n')
    for (const path of [outside, join(outside, 'sub')]) await chmod(path, 0o777)
    await chmod(join(outside, 'secret'), 0o666)
    service = await startService({ roots: root.path })
    folder = await root.folder('shop', { 'index.html': 'hello\n', 'inside/file': 'mine\n' })
    const settings: object = { static: {} }
    await service.client.call('createProject', {
      body: { ...settings, name: 'Shop', path: folder, start: false },
      query: { wait: 60 },
    })
    const script = `ln -s ${outside} out; ln -s ${outside}/secret leak; ln -s ${outside}/made dangling; ln -s out chain; ln -s loop loop
ln -s ../${'../'.repeat(9)}${outside.slice(1)} relative; ln -s /proc/self/root proc; mkfifo pipe; ln -s inside/file near; ln -s /dev/zero zero
printf x > "$(printf 'line\\nbreak')"; printf x > "$(printf 'bad\\377')"; mkdir many; cd many; seq -f f%05g 10000 | xargs touch; cd ..; mkdir own small`
    const planted = await raw('POST', '/projects/shop/exec', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ argv: ['sh', '-c', script] }),
    })
    assert.match(await planted.text(), /"code":0/)
    uid = (await stat(join(folder, 'own'))).uid
  })
  after(async () => {
    await browser?.close()
    await service?.close()
    await root?.remove()
    if (outside !== undefined) await rm(outside, { recursive: true, force: true })
  })

  it('leaves the old file when the disk is full', {
    skip: isRoot ? false : 'mounting a small disk needs root',
  }, async () => {
    const small = join(folder, 'small')
    await run('mount', ['-t', 'tmpfs', '-o', `size=1m,mode=750,uid=${uid}`, 'tmpfs', small])
    try {
      assert.equal((await put('small/file', 'old', create)).status, 201)
      const full = await put('small/file', 'x'.repeat(2 << 20), { 'if-match': '*' })
      assert.deepEqual([full.status, ((await full.json()) as { code: string }).code], [507, 'disk_full'])
      assert.equal(await readFile(join(small, 'file'), 'utf8'), 'old')
      assert.deepEqual(await readdir(small), ['file'])
    } finally {
      await run('umount', [small])
    }
  })

  it('refuses every way out, and leaves what lies there as it is', async () => {
    const paths = [
      '../../../../etc/passwd',
      '..',
      `${outside}/secret`,
      `${folder}/index.html`,
      'leak',
      'out/secret',
      'chain/secret',
      'relative/secret',
      `proc${outside}/secret`,
      'out/../secret',
      'loop',
      'pipe',
      'zero',
      'index.html\0/../out/secret',
      'inside/../../x',
      '.stackquay-trash/.gitignore',
      '',
    ]
    for (const path of paths) {
      const read = await get(path)
      assert.ok([400, 404, 422].includes(read.status), `read ${path}: ${read.status}`)
      assert.doesNotMatch(await read.text(), /CANARY|root:/)
    }
    for (const path of ['leak', 'out/new', 'out/secret', 'dangling', 'chain/new', 'loop', 'pipe', '../new', ''])
      for (const headers of [create, { 'if-match': '*' }]) {
        const written = await put(path, 'ESCAPED', headers as Record<string, string>)
        assert.ok(written.status >= 400 && written.status < 500, `write ${path}: ${written.status}`)
      }
    for (const path of ['out/secret', 'out/sub', '', '..', '.stackquay-trash'])
      assert.ok((await remove(path)).status >= 400, `delete ${path}`)
    for (const [from, to] of [
      ['inside/file', 'out/file'],
      ['out/secret', 'taken'],
      ['inside/file', '../file'],
      ['inside', 'inside/deeper'],
    ])
      assert.ok((await send('/rename', { from, to })).status >= 400, `rename ${from} ${to}`)
    for (const path of ['out/folder', '../folder', 'a\nb', 'a\u202eb', 'index.html'])
      assert.ok((await send('/folders', { path })).status >= 400, `folder ${path}`)
    for (const path of ['out', 'chain', 'pipe', 'index.html'])
      assert.ok((await raw('GET', at(`/archive?path=${path}`))).status >= 400, `archive ${path}`)
    for (const path of ['out', 'relative', 'leak']) assert.ok((await list(path)).status >= 400, `list ${path}`)
    assert.equal(await readFile(join(outside, 'secret'), 'utf8'), 'CANARY\n')
    assert.deepEqual((await readdir(outside)).sort(), ['secret', 'sub'])
    assert.equal((await stat(join(outside, 'secret'))).mode & 0o777, 0o666)
  })

  it('lists what is there as what it is, in pages', async () => {
    const page = (await (await list('')).json()) as { items: readonly Record<string, unknown>[]; isWhole: boolean }
    const items = new Map(page.items.map((item) => [String(item.name), item]))
    assert.deepEqual(
      ['inside', 'index.html', 'pipe', 'leak'].map((name) => items.get(name)?.kind),
      ['folder', 'file', 'other', 'link'],
    )
    assert.deepEqual(items.get('leak')?.link, { target: `${outside}/secret`, to: null })
    assert.deepEqual(items.get('near')?.link, { target: 'inside/file', to: 'file' })
    assert.equal(items.get('line\nbreak')?.path, 'line\nbreak')
    assert.equal(items.get('bad\ufffd')?.path, null)
    assert.equal(await (await get('line\nbreak')).text(), 'x')
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const more = (await (await list('many', `&limit=1000${cursor}`)).json()) as {
        items: readonly { name: string }[]
        nextCursor: string | null
      }
      seen.push(...more.items.map(({ name }) => name))
      if (more.nextCursor === null) break
      cursor = `&cursor=${encodeURIComponent(more.nextCursor)}`
    }
    assert.equal(seen.length, 10_000)
    assert.equal(new Set(seen).size, 10_000)
  })

  it('writes whole or not at all, and only over what was read', async () => {
    assert.equal((await put('index.html', 'no', {})).status, 428)
    assert.equal((await put('index.html', 'no', create)).status, 412)
    const read = await get('index.html')
    const etag = read.headers.get('etag')!
    assert.equal(await read.text(), 'hello\n')
    // Made by us, it is the project’s user’s.
    assert.equal((await put('index.html', 'hello\n', { 'if-match': etag })).status, 200)
    await chmod(join(folder, 'index.html'), 0o600)
    const again = (await get('index.html')).headers.get('etag')!
    assert.notEqual(again, etag)
    const written = await put('index.html', 'second\n', { 'if-match': again })
    assert.equal(written.status, 200)
    assert.equal((await stat(join(folder, 'index.html'))).mode & 0o777, 0o600)
    assert.equal((await put('index.html', 'third\n', { 'if-match': again })).status, 412)
    assert.equal(await readFile(join(folder, 'index.html'), 'utf8'), 'second\n')
    // What is answered is what the next one needs.
    const next = written.headers.get('etag')!
    assert.equal((await get('index.html')).headers.get('etag'), next)
    const part = await get('index.html', { range: 'bytes=2-4' })
    assert.deepEqual([part.status, await part.text()], [206, 'con'])
    // Of several at the same moment one wins.
    const racing = await Promise.all(['a', 'b', 'c', 'd'].map((text) => put('index.html', text, { 'if-match': next })))
    assert.deepEqual(racing.map(({ status }) => status).sort(), [200, 412, 412, 412])
    const making = await Promise.all(['a', 'b', 'c', 'd'].map((text) => put('inside/made', text, create)))
    assert.deepEqual(making.map(({ status }) => status).sort(), [201, 412, 412, 412])
    // Through a link that stays inside, the link stays.
    assert.equal((await put('near', 'through\n', { 'if-match': '*' })).status, 200)
    assert.equal(await readFile(join(folder, 'inside/file'), 'utf8'), 'through\n')
    assert.ok((await lstat(join(folder, 'near'))).isSymbolicLink())
    assert.deepEqual((await readdir(join(folder, 'inside'))).sort(), ['file', 'made'])
  })

  it('deletes to the trash, brings back, and purges', async () => {
    assert.equal((await send('/folders', { path: 'gone' })).status, 201)
    assert.equal((await put('gone/deep.txt', 'kept', create)).status, 201)
    const removed = await remove('gone')
    assert.equal(removed.status, 200)
    const { id, kind } = (await removed.json()) as { id: string; kind: string }
    assert.equal(kind, 'file')
    assert.equal((await get('gone/deep.txt')).status, 404)
    assert.equal(await readFile(join(folder, '.stackquay-trash/.gitignore'), 'utf8'), '*\n')
    const listed = (await (await list('')).json()) as { items: readonly { name: string }[] }
    assert.ok(!listed.items.some(({ name }) => name.startsWith('.stackquay')))
    // Nothing is replaced by what comes back.
    assert.equal((await send('/folders', { path: 'gone' })).status, 201)
    assert.equal((await send('/restore', { item: id })).status, 409)
    const other = (await (await remove('gone')).json()) as { id: string }
    assert.equal((await send('/restore', { item: id })).status, 200)
    assert.equal(await (await get('gone/deep.txt')).text(), 'kept')
    await service.client.call('purgeTrash', { params: { item: other.id }, query: { confirm: 'gone' } })
    assert.deepEqual(await readdir(join(folder, '.stackquay-trash')), ['.gitignore'])
    assert.equal((await send('/rename', { from: 'gone', to: 'inside/moved' })).status, 200)
    assert.equal((await send('/rename', { from: 'inside/moved', to: 'index.html' })).status, 409)
  })

  it('leaves deleted files and what pulls replaced out of copies', async () => {
    await mkdir(join(folder, '.stackquay/before-pull/x'), { recursive: true })
    await writeFile(join(folder, '.stackquay/before-pull/x/old'), 'old')
    assert.equal((await put('gone.txt', 'in the trash', create)).status, 201)
    assert.equal((await remove('gone.txt')).status, 200)
    const shop = { params: { id: 'shop' }, query: { wait: 60 } }
    const copy = await service.client.call('duplicateProject', { ...shop, body: { name: 'Copy', start: false } })
    const copied = (await run('find', [copy.path, '-printf', '%P\\n'])).stdout.split('\n')
    assert.ok(copied.includes('index.html'))
    for (const one of copied) assert.doesNotMatch(one, /stackquay-trash|before-pull/)
    await rm(join(folder, '.stackquay'), { recursive: true })
  })

  it('leaves the old file when the upload breaks off and when the service is killed', async () => {
    assert.equal((await put('own/file', 'old', create)).status, 201)
    const parts = async () => (await readdir(join(folder, 'own'))).filter((name) => name.endsWith('.part'))
    const begin = async () => {
      const end = new AbortController()
      const body = new ReadableStream({ start: (to) => to.enqueue(new Uint8Array(200_000)) })
      const headers = {
        authorization: `Bearer ${service.token}`,
        'content-type': 'application/octet-stream',
        'if-match': '*',
      }
      const url = `${service.url}/api/v1${at('/content?path=own/file')}`
      const sent = fetch(url, { method: 'PUT', headers, body, duplex: 'half', signal: end.signal } as RequestInit)
      sent.catch(() => undefined)
      await until(async () => (await parts()).length > 0, 'the upload to begin')
      return { end, sent }
    }
    const broken = await begin()
    broken.end.abort()
    await until(async () => (await parts()).length === 0, 'what was sent to go')
    const killed = await begin()
    await service.kill()
    await assert.rejects(killed.sent)
    assert.equal((await parts()).length, 1)
    assert.equal(await readFile(join(folder, 'own/file'), 'utf8'), 'old')
    await service.start()
    assert.equal((await put('own/file', 'new', { 'if-match': '*' })).status, 200)
    assert.deepEqual(await readdir(join(folder, 'own')), ['file'])
  })

  it('takes a large file with little memory', async () => {
    const chunk = new Uint8Array(1 << 20)
    const chunks = rounds(150, 300)
    await writeFile(`/proc/${service.pid()}/clear_refs`, '5')
    const before = await mostMemory(service.pid())
    async function* content() {
      for (let sent = 0; sent < chunks; sent += 1) yield chunk
    }
    const answer = await fetch(`${service.url}/api/v1${at('/content?path=large')}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/octet-stream', ...create },
      body: content(),
      duplex: 'half',
    } as unknown as RequestInit)
    assert.equal(answer.status, 201)
    assert.equal((await stat(join(folder, 'large'))).size, chunks << 20)
    const grown = (await mostMemory(service.pid())) - before
    assert.ok(grown < 128 << 20, `${grown >> 20} MB`)
  })

  it('opens a download for a browser with a ticket for that path alone', async () => {
    const login = await raw('POST', '/auth/login', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(admin),
      token: '',
    })
    const cookie = login.headers.get('set-cookie')!.split(';')[0]!
    const { csrfToken } = (await login.json()) as { csrfToken: string }
    const ticketFor = async (path: string) => {
      const answer = await fetch(`${service.url}/api/v1/auth/tickets`, {
        method: 'POST',
        headers: { cookie, 'x-csrf-token': csrfToken, 'content-type': 'application/json' },
        body: JSON.stringify({ path: `/api/v1${path}` }),
      })
      return { status: answer.status, ...((await answer.json()) as { ticket?: string }) }
    }
    const open = (path: string, ticket = '') =>
      fetch(`${service.url}/api/v1${path}&ticket=${ticket}`, { headers: { cookie } })
    for (const [path, other] of [
      [at('/content?path=index.html'), at('/content?path=inside/file')],
      [at('/archive?path=inside'), at('/archive?path=own')],
    ] as const) {
      const { ticket } = await ticketFor(path)
      assert.equal((await open(other, ticket)).status, 401)
      const opened = await open(path, ticket)
      assert.equal(opened.status, 200)
      assert.match(opened.headers.get('content-disposition') ?? '', /^attachment;/)
      await opened.arrayBuffer()
      assert.equal((await open(path, ticket)).status, 401, 'once')
    }
    assert.equal((await ticketFor(at('?path=inside'))).status, 422)
  })

  it('leads nowhere while programs of the project swap folders for links', async () => {
    await using racers = await race(join(folder, 'own'), outside, uid)
    const begun = racers.swaps()
    const names = ['d', 'e', 'p/inner', 'results.xml', 'package.json', 'p']
    const count = { inside: 0, refused: 0 }
    for (let turn = 0; turn < rounds(24, 5_000); turn += 1) {
      const path = `own/${names[turn % names.length]!}`
      const answers = await Promise.all([
        get(`${path}/secret`),
        get(path),
        put(`${path}/secret`, 'ESCAPED', { 'if-match': '*' }),
        put(`${path}/new-${turn}`, 'ESCAPED', create),
        list(path),
        remove(`${path}/secret`),
        send('/folders', { path: `${path}/made` }),
        send('/rename', { from: 'inside/made', to: `${path}/made-${turn}` }),
        raw('GET', at(`/archive?path=${path}`)),
      ])
      for (const answer of answers) {
        count[answer.ok ? 'inside' : 'refused'] += 1
        assert.ok(answer.status < 500 || answer.status === 503, `${answer.url}: ${answer.status}`)
        const bytes = await answer.arrayBuffer().catch(() => new ArrayBuffer(0))
        assert.doesNotMatch(Buffer.from(bytes).toString('latin1'), /CANARY/)
      }
      await put('inside/made', 'made', create)
    }
    assert.equal(await readFile(join(outside, 'secret'), 'utf8'), 'CANARY\n')
    assert.deepEqual((await readdir(outside)).sort(), ['secret', 'sub'])
    assert.deepEqual(await readdir(join(outside, 'sub')), [])
    assert.ok(racers.swaps() > begun, 'nothing was swapped')
    assert.ok(count.inside > 0 && count.refused > 0, JSON.stringify(count))
  })

  it('gives a folder as an archive that tar reads', async () => {
    const long = `${'n'.repeat(120)}.txt`
    await put(`inside/${long}`, 'long', create)
    const answer = await raw('GET', at('/archive?path='))
    assert.equal(answer.status, 200)
    const file = join(outside, 'archive.tgz')
    await writeFile(file, Buffer.from(await answer.arrayBuffer()))
    const { stdout } = await run('tar', ['-tvzf', file], { maxBuffer: 16 << 20 })
    assert.match(stdout, /^-.* shop\/index\.html$/m)
    assert.match(stdout, new RegExp(`shop/inside/${long}$`, 'm'))
    assert.match(stdout, /^l.* shop\/leak -> /m)
    assert.doesNotMatch(stdout, /pipe|stackquay-trash/)
    assert.equal((await run('tar', ['-xOzf', file, 'shop/inside/file'])).stdout, 'through\n')
    await rm(file)
  })

  it('is a tab of the page: a file is edited, nobody is overwritten, and what is dropped arrives', async () => {
    await put('page.txt', 'first\n', create)
    const opened = await openPage(service, 30_000)
    browser = opened.browser
    const { page } = opened
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.goto(`${service.url}/projects/shop/files`)
    await page.getByRole('link', { name: 'page.txt' }).waitFor()
    await assertLooks(page, 'files of a project')
    await page.getByRole('link', { name: 'page.txt' }).click()
    const editor = page.getByLabel('Content of page.txt')
    await editor.fill('mine')
    await put('page.txt', 'theirs', { 'if-match': '*' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else changed this file').waitFor()
    assert.equal(await readFile(join(folder, 'page.txt'), 'utf8'), 'theirs')
    await assertLooks(page, 'a file that somebody else changed')
    await page.getByRole('button', { name: 'Overwrite with mine' }).click()
    await page.getByText('Saved.').waitFor()
    assert.equal(await readFile(join(folder, 'page.txt'), 'utf8'), 'mine')
    await editor.fill('mine again')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Not saved').waitFor({ state: 'detached' })
    assert.equal(await readFile(join(folder, 'page.txt'), 'utf8'), 'mine again')
    await assertLooks(page, 'a file in the editor')
    await page.getByRole('button', { name: 'To the folder' }).click()
    const up = { name: 'up.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 2]) }
    await page.getByLabel('Upload').last().setInputFiles(up)
    await page.getByRole('link', { name: 'up.bin' }).click()
    await page.getByText('This file is no text').waitFor()
    await page.getByRole('button', { name: 'To the folder' }).click()
    await page.getByRole('button', { name: 'Actions for up.bin' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('up.bin is in the trash.').waitFor()
    await assertLooks(page, 'a deletion that can be undone')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('up.bin is back.').waitFor()
    await page.getByRole('link', { name: 'up.bin' }).waitFor()
    assert.deepEqual(
      opened.errors.filter((text) => !/412/.test(text)),
      [],
    )
  })

  it('is open to operate alone, and recorded', async () => {
    const token = await service.newToken('read')
    for (const path of ['', '/content?path=index.html', '/archive'])
      assert.equal((await raw('GET', at(path), { token })).status, 403)
    // All but a byte of a file is the file.
    assert.equal((await get('near', { range: 'bytes=1-' })).status, 206)
    const { items } = await service.client.call('listAudit', { query: { limit: 200 } })
    const recorded = items
      .filter(({ outcome }) => outcome === 'success')
      .map(({ action, target, changes }) => ({ action, target, changes }))
    const has = (action: string, target: string, changes: (of: Record<string, unknown>) => boolean = () => true) => {
      const found = recorded.filter((one) => one.action === action && one.target === target)
      assert.ok(
        found.some((one) => changes((one.changes ?? {}) as Record<string, unknown>)),
        `${action} ${target}: ${JSON.stringify(found)}`,
      )
    }
    has('file.read', 'shop/index.html')
    has('file.read', 'shop/near')
    has('file.write', 'shop/index.html', ({ bytes, new: isNew }) => bytes === 'second\n'.length && isNew === false)
    has('file.write', 'shop/inside/made', ({ bytes, new: isNew }) => bytes === 1 && isNew === true)
    has('file.folder', 'shop/gone')
    has('file.delete', 'shop/gone', ({ item }) => typeof item === 'string' && item.startsWith('trs_'))
    has('trash.restore', 'shop/gone', ({ item }) => typeof item === 'string' && item.startsWith('trs_'))
    has('file.rename', 'shop/gone', ({ to }) => to === 'inside/moved')
    has('file.archive', 'shop/')
    // Of what is in a file nothing is recorded.
    assert.doesNotMatch(JSON.stringify(items), /through|CANARY|ESCAPED/)
  })
})

/** At most since it was set back. */
async function mostMemory(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(text)![1]) * 1024
}
