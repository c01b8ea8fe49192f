import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Mail } from '../src/mail/mail-text.ts'
import { numberedName, safeFileName } from '../src/mail/safe-file-name.ts'
import { scratch, stq } from './run-stq.ts'
import { answerProblem, problem, standIn } from './stand-in.ts'
import { onTerminal } from './terminal.ts'

const id = (start: string) => start.padEnd(32, '0')
const newest = id('abcd1')
const receivedAt = '2026-01-01T00:00:00.000Z'
/** Clears the screen, renames the window, goes back to the line's begin, and is C1 where that is one byte less. */
const nasty = '\x1b[2J\x1b]0;owned\x07\r\x9b'

function summary(rest: Partial<Mail> = {}) {
  return {
    id: newest,
    from: { name: `Ada${nasty}`, address: 'ada@example.org' },
    to: [{ name: '', address: 'bob@example.org' }],
    subject: `Hello${nasty}`,
    receivedAt,
    sizeBytes: 2000,
    attachmentCount: 2,
    read: false,
    snippet: 'Hi',
    ...rest,
  }
}

function mail(rest: Partial<Mail> = {}): Mail {
  return {
    ...summary(rest),
    cc: [],
    bcc: [{ name: '', address: 'eve@example.org' }],
    replyTo: [],
    headers: [
      { name: 'Subject', value: `Hello${nasty}` },
      { name: 'X-Two', value: 'one\r\n two' },
    ],
    text: `Hi,\r\n\tthere${nasty}!\nSecond line\n`,
    html: `<p>Hi${nasty}</p>\n`,
    truncated: false,
    attachments: [],
    envelope: { from: 'ada@example.org', to: ['bob@example.org'] },
    problem: null,
    ...rest,
  }
}

const page = (items: readonly unknown[], more: object = {}) => ({
  items,
  nextCursor: null,
  total: items.length,
  unread: 1,
  ...more,
})

/** All that controls a terminal but tabs and line ends. */
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/

/** A sequence is gone as a whole, with the text in it. */
function assertClean(text: string): void {
  assert.doesNotMatch(text, controls)
  assert.ok(!text.includes('owned'))
}

test('against a stand-in: mails are listed with what a stranger wrote made harmless', async () => {
  await using service = await standIn({
    'GET /projects/shop/mail': () =>
      page([summary(), summary({ id: id('ffff'), read: true, from: null, attachmentCount: 0 })], { total: 9 }),
  })
  const human = await stq(['mail', 'shop'], { url: service.url })
  assertClean(human.stdout)
  assert.match(human.stdout, /\n● +abcd1000 .* ago +Ada <ada@example\.org> +bob@example\.org +2 +Hello\n {3}ffff0000 /)
  assert.equal(human.stderr, 'These are the newest 2 of 9; --limit shows more.\n')
  const quiet = await stq(['mail', 'shop', '--quiet'], { url: service.url })
  assert.equal(quiet.stdout, `${newest}\n${id('ffff')}\n`)
  const json = await stq(['mail', 'shop', '--json', '--search', 'two words', '-n', '7'], { url: service.url })
  assert.deepEqual(Object.fromEntries(service.calls.at(-1)!.query), { limit: '7', q: 'two words' })
  assert.doesNotMatch(json.stdout, controls)
  assert.equal(JSON.parse(json.stdout).items[0].subject, `Hello${nasty}`)
})

test('against a stand-in: a mail is shown with its text, lines and tabs kept and nothing that steers the terminal', async () => {
  const file = { index: 0, contentType: 'image/png', sizeBytes: 1200, inline: false, contentId: null }
  await using service = await standIn({
    'GET /projects/shop/mail': () => page([summary()]),
    [`GET /projects/shop/mail/${newest}`]: () => mail({ attachments: [{ ...file, fileName: `a${nasty}.png` }] }),
  })
  const { stdout } = await stq(['mail', 'show', 'shop'], { url: service.url })
  assertClean(stdout)
  assert.match(stdout, /^From +Ada <ada@example\.org>\nTo +bob@example\.org\nBcc +eve@example\.org\nSubject +Hello\n/)
  // A lone carriage return begins a line of its own; on a terminal it would write over this one.
  assert.match(stdout, /\nFile +a\.png \(image\/png, 1\.2 kB\)\n\nHi,\n\tthere\n!\nSecond line\n$/)
  const headers = await stq(['mail', 'show', 'shop', '--headers'], { url: service.url })
  assertClean(headers.stdout)
  assert.equal(headers.stdout, 'Subject: Hello\nX-Two: one two\n')
  const json = await stq(['mail', 'show', 'shop', newest, '--json'], { url: service.url })
  assert.doesNotMatch(json.stdout, controls)
  assert.equal(JSON.parse(json.stdout).text, mail().text)
})

test('against a stand-in: HTML and source are as sent in a pipe, and harmless on a terminal', async () => {
  const source = Buffer.from(`Subject: x\r\n\r\n${nasty}\xff`, 'latin1')
  await using service = await standIn({
    'GET /projects/shop/mail': () => page([summary()]),
    [`GET /projects/shop/mail/${newest}`]: () => mail(),
    [`GET /projects/shop/mail/${newest}/source`]: (_call, response) => {
      response.writeHead(200, { 'content-type': 'message/rfc822' }).end(source)
    },
  })
  const show = ['mail', 'show', 'shop', newest]
  assert.equal((await stq([...show, '--html'], { url: service.url })).stdout, `${mail().html}\n`)
  const piped = await stq([...show, '--source'], { url: service.url })
  assert.equal(piped.stdout, source.toString('utf8'))
  for (const flag of ['--html', '--source', '--headers']) {
    const { stdout, error } = await onTerminal([...show, flag], { url: service.url })
    assert.equal(error, null)
    assert.ok(stdout.length > 5)
    assertClean(stdout)
  }
  assert.equal((await stq([...show, '--html', '--source'], { url: service.url })).code, 2)
})

test('against a stand-in: a mail is found by how its id begins, in all pages, and marked as read only when told', async () => {
  await using service = await standIn({
    'GET /projects/shop/mail': ({ query }) =>
      query.has('cursor')
        ? page([summary({ id: id('abcd2') })])
        : page([summary(), summary({ id: id('eeee') })], { nextCursor: 'next' }),
    [`GET /projects/shop/mail/${id('abcd2')}`]: () => mail({ id: id('abcd2') }),
    [`PATCH /projects/shop/mail/${id('abcd2')}`]: () => summary({ read: true }),
  })
  const show = (wanted: string, ...more: string[]) =>
    stq(['mail', 'show', 'shop', wanted, ...more], { url: service.url })
  assert.equal((await show('abcd2')).code, 0)
  assert.ok(!service.lines().some((line) => line.startsWith('PATCH')))
  assert.equal((await show('ABCD2', '--mark-read')).code, 0)
  assert.deepEqual(service.calls.at(-1)!.body, { read: true })
  const both = await show('abcd')
  assert.equal(both.code, 2)
  assert.match(both.stderr, /More than one mail begins with "abcd"/)
  assert.equal((await show('beef')).code, 4)
  assert.equal((await show('abc')).code, 2)
  assert.equal((await show('../../x')).code, 2)
})

test('against a stand-in: no mail at all, and no mail catcher, are told as such', async () => {
  await using service = await standIn({
    'GET /projects/shop/mail': () => page([]),
    'GET /projects/blog/mail': (_call, response) =>
      answerProblem(response, problem(404, 'not_found', { detail: 'The project has no mail catcher.' })),
  })
  assert.equal((await stq(['mail', 'shop'], { url: service.url })).stdout, 'No mails.\n')
  assert.equal((await stq(['mail', 'show', 'shop'], { url: service.url })).code, 4)
  const { code, stderr } = await stq(['mail', 'blog'], { url: service.url })
  assert.equal(code, 4)
  assert.match(stderr, /The project has no mail catcher\./)
})

const hostile = ['../../evil.sh', 'C:\\temp\\evil.bat', '.bashrc', 'CON.txt', 'gpj.\u202eexe.txt', '\x1b[2J', null, '']

test('against a stand-in: files of a mail are saved under harmless names, never outside the folder, never over others', async () => {
  await using folder = await scratch()
  const target = join(folder.path, 'saved')
  await mkdir(target)
  await writeFile(join(target, 'evil.sh'), 'mine')
  await symlink(join(folder.path, 'outside'), join(target, 'bashrc'))
  const attachments = [
    ...hostile.map((fileName, index) => ({ index, fileName, inline: false })),
    { index: 8, fileName: 'logo.png', inline: true },
  ].map((each) => ({ ...each, contentType: 'text/plain', sizeBytes: 7, contentId: null }))
  await using service = await standIn({
    [`GET /projects/shop/mail/${newest}`]: () => mail({ attachments, subject: 'Re: a/b' }),
    ...Object.fromEntries(
      attachments.map(({ index }) => [
        `GET /projects/shop/mail/${newest}/attachments/${index}`,
        (_call: unknown, response: import('node:http').ServerResponse) => {
          response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(`bytes ${index}`)
        },
      ]),
    ),
    [`GET /projects/shop/mail/${newest}/source`]: (_call, response) => {
      response.writeHead(200, { 'content-type': 'message/rfc822' }).end('Subject: x\r\n')
    },
  })
  const save = ['mail', 'save', 'shop', newest, 'saved']
  const first = await stq(save, { url: service.url, cwd: folder.path })
  assert.equal(first.code, 0, first.stderr)
  assert.deepEqual(first.stdout.trim().split('\n'), [
    'saved/evil (2).sh',
    'saved/evil.bat',
    'saved/bashrc (2)',
    'saved/_CON.txt',
    'saved/gpj.exe.txt',
    'saved/[2J',
    'saved/attachment-6',
    'saved/attachment-7',
  ])
  assert.equal(first.stderr, '8 files, 56 bytes\n')
  assert.equal(await readFile(join(target, 'evil.sh'), 'utf8'), 'mine')
  assert.equal(await readFile(join(target, 'evil (2).sh'), 'utf8'), 'bytes 0')
  assert.equal((await stat(join(target, 'evil (2).sh'))).mode & 0o777, 0o600)
  assert.deepEqual((await readdir(folder.path)).sort(), ['saved'])

  const second = await stq([...save, '--inline', '--source', '--json'], { url: service.url, cwd: folder.path })
  const { items } = JSON.parse(second.stdout) as { items: { path: string; sizeBytes: number }[] }
  assert.equal(items.length, 10)
  assert.ok(items.every(({ path }) => path.startsWith(`${target}/`)))
  assert.equal(items.at(-1)!.path, join(target, 'Re_ a-b.eml'))
  assert.equal((await readdir(target)).length, 2 + 8 + 10)
})

test('against a stand-in: a file that breaks off leaves nothing behind', async () => {
  await using folder = await scratch()
  const attachments = [
    { index: 0, fileName: 'big.bin', inline: false, contentType: 'x/y', sizeBytes: 1000, contentId: null },
  ]
  await using service = await standIn({
    [`GET /projects/shop/mail/${newest}`]: () => mail({ attachments }),
    [`GET /projects/shop/mail/${newest}/attachments/0`]: (_call, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': '1000' })
      response.write('only this', () => response.destroy())
    },
  })
  const { code, stderr } = await stq(['mail', 'save', 'shop', newest], { url: service.url, cwd: folder.path })
  assert.equal(code, 6)
  assert.match(stderr, /broke off before its end/)
  assert.deepEqual(await readdir(folder.path), [])
})

test('against a stand-in: mails are deleted by name, and all of them only when that is meant', async () => {
  await using service = await standIn({
    'GET /projects/shop/mail': () => page([summary(), summary({ id: id('eeee') })], { total: 2 }),
    [`DELETE /projects/shop/mail/${newest}`]: (_call, response) => void response.writeHead(204).end(),
    'DELETE /projects/shop/mail': (_call, response) => void response.writeHead(204).end(),
  })
  const remove = (...args: string[]) => stq(['mail', 'delete', 'shop', ...args], { url: service.url })
  const deletes = () => service.lines().filter((line) => line.startsWith('DELETE'))
  assert.equal((await remove()).code, 2)
  assert.equal((await remove('--all', newest)).code, 2)
  const asked = await remove('--all')
  assert.equal(asked.code, 2)
  assert.match(asked.stderr, /This deletes all 2 mails of shop\.\n.*--yes/)
  assert.equal((await remove(newest, 'beef')).code, 4, 'a wrong id among them deletes none')
  assert.deepEqual(deletes(), [])
  assert.equal((await remove('abcd1', newest)).stderr, '✔ abcd1000 is deleted\n')
  assert.equal((await remove('--all', '--yes')).code, 0)
  assert.deepEqual(deletes(), [`DELETE /projects/shop/mail/${newest}`, 'DELETE /projects/shop/mail'])
})

test('a file name of a stranger becomes one that is safe everywhere', () => {
  const safe = (name: string | null) => safeFileName(name, 'attachment-0')
  assert.equal(safe('report.pdf'), 'report.pdf')
  assert.equal(safe('Çà va.tar.gz'), 'Çà va.tar.gz')
  assert.equal(safe('../../etc/passwd'), 'passwd')
  assert.equal(safe('/etc/'), 'attachment-0')
  assert.equal(safe('..'), 'attachment-0')
  assert.equal(safe('-rf'), 'rf')
  assert.equal(safe('a<b>c:d"e|f?g*h'), 'a_b_c_d_e_f_g_h')
  assert.equal(safe('nul'), '_nul')
  assert.equal(safe('com1.tar.gz'), '_com1.tar.gz')
  assert.equal(safe('trailing. . '), 'trailing')
  assert.equal(safe('\ufeffx\u200b.txt\0'), 'x.txt')
  const long = safe(`${'日'.repeat(200)}.txt`)
  assert.ok(long.endsWith('日.txt') && Buffer.byteLength(long) <= 200)
  assert.ok(Buffer.byteLength(safe(`a.${'b'.repeat(300)}`)) <= 200)
  assert.equal(numberedName('a.tar.gz', 2), 'a (2).tar.gz')
  assert.equal(numberedName('README', 3), 'README (3)')
})
