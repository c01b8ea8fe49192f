import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { scratch, stq } from './run-stq.ts'
import { answerProblem, problem, standIn } from './stand-in.ts'

const path = '/projects/shop/files'
const file = { size: 1200, mode: '644', modifiedAt: '2026-01-01T00:00:00.000Z', link: null }
const written = { path: 'src/a.txt', size: 3, etag: '"2"' }

test('against a stand-in: a folder is listed over all its pages, with nothing that moves the terminal', async () => {
  await using service = await standIn({
    [`GET ${path}`]: ({ query }) =>
      query.has('cursor')
        ? {
            path: 'src',
            items: [{ ...file, name: 'a\x1b[2J', path: 'src/a\x1b[2J', kind: 'file' }],
            nextCursor: null,
            isWhole: false,
          }
        : {
            ...{ path: 'src', nextCursor: 'next', isWhole: true },
            items: [
              { ...file, name: 'lib', path: 'src/lib', kind: 'folder' },
              { ...file, name: 'out', path: 'src/out', kind: 'link', link: { target: '/etc', to: null } },
            ],
          },
  })
  const { code, stdout, stderr } = await stq(['files', 'shop', 'src'], { url: service.url })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^NAME +SIZE +MODE +CHANGED\nlib\/ +- +644 .*\nout -> \/etc +- .*\na.* 1\.2 kB +644 /)
  assert.doesNotMatch(stdout, /\x1b\[2J/)
  assert.match(stderr, /holds more than are listed/)
  assert.deepEqual(
    service.calls.map(({ query }) => query.toString()),
    ['limit=1000&path=src', 'limit=1000&path=src&cursor=next'],
  )
})

test('against a stand-in: a file is saved whole, and replaces one that is here only with --force', async () => {
  await using folder = await scratch()
  let breaks = false
  await using service = await standIn({
    [`GET ${path}/content`]: (_call, response) => {
      response.writeHead(200).write(Buffer.from([0, 255, 10]))
      if (breaks) setTimeout(() => response.destroy(), 50)
      else response.end()
    },
    [`GET ${path}/archive`]: (_call, response) => void response.writeHead(200).end('tar'),
  })
  const options = { url: service.url, cwd: folder.path, encoding: 'latin1' } as const
  const get = (...args: readonly string[]) => stq(['files', 'get', 'shop', ...args], options)
  assert.equal((await get('src/a.bin')).code, 0)
  assert.deepEqual([...(await readFile(join(folder.path, 'a.bin')))], [0, 255, 10])
  assert.equal((await get('src/a.bin', '-')).stdout, '\x00\xff\n')
  await writeFile(join(folder.path, 'a.bin'), 'mine')
  const calls = service.calls.length
  assert.equal((await get('src/a.bin')).code, 2)
  assert.equal(service.calls.length, calls)
  breaks = true
  assert.notEqual((await get('src/a.bin', '--force')).code, 0)
  assert.equal(await readFile(join(folder.path, 'a.bin'), 'utf8'), 'mine')
  breaks = false
  assert.equal((await get('src/a.bin', '--force')).code, 0)
  assert.equal((await get('src', '--archive')).code, 0)
  assert.deepEqual(await readdir(folder.path), ['a.bin', 'src.tar.gz'])
  assert.equal(service.calls.at(-1)?.query.get('path'), 'src')
})

test('against a stand-in: a file is put where none is; with --force over what was there', async () => {
  await using folder = await scratch()
  let there: string | null = null
  let puts = 0
  await using service = await standIn({
    [`GET ${path}/content`]: (_call, response) =>
      there === null
        ? answerProblem(response, problem(404, 'not_found'))
        : void response.writeHead(200, { etag: there }).end('old'),
    [`PUT ${path}/content`]: (_call, response) => {
      puts += 1
      if (puts === 4) answerProblem(response, problem(412, 'precondition_failed'))
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(written))
    },
  })
  await writeFile(join(folder.path, 'a.txt'), '"new"')
  const options = { url: service.url, cwd: folder.path }
  const put = (...args: readonly string[]) => stq(['files', 'put', 'shop', ...args], options)
  const last = () => {
    const { query, headers, body } = service.calls.at(-1)!
    return [query.get('path'), headers['if-none-match'] ?? null, headers['if-match'] ?? null, body]
  }
  const made = await put('a.txt', 'src/')
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stderr, /src\/a\.txt is made/)
  assert.deepEqual(last(), ['src/a.txt', '*', null, 'new'])
  assert.equal((await put('a.txt', '--force')).code, 0)
  assert.deepEqual(last(), ['a.txt', '*', null, 'new'])
  there = '"1"'
  const replaced = await put('a.txt', 'src/b.txt', '--force', '--json')
  assert.deepEqual(JSON.parse(replaced.stdout), written)
  assert.deepEqual(last(), ['src/b.txt', null, '"1"', 'new'])
  const refused = await put('a.txt')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /There is a "a\.txt" already[\s\S]*--force/)
  const piped = await stq(['files', 'put', 'shop', '-', 'in.txt'], { ...options, input: '"piped"' })
  assert.equal(piped.code, 0, piped.stderr)
  assert.deepEqual(last(), ['in.txt', '*', null, 'piped'])
  for (const args of [['-'], ['-', 'src/'], ['none.txt'], ['.', 'x']]) assert.equal((await put(...args)).code, 2)
})

test('against a stand-in: what is deleted says how it comes back', async () => {
  await using service = await standIn({
    [`DELETE ${path}`]: ({ query }) => ({ id: 'trs_1', name: query.get('path'), kind: 'file' }),
    [`POST ${path}/restore`]: ({ body }) => ({
      ...file,
      name: 'a',
      path: `src/${(body as { item: string }).item}`,
      kind: 'file',
    }),
  })
  const { code, stdout, stderr } = await stq(['files', 'rm', 'shop', 'src/a'], { url: service.url })
  assert.deepEqual([code, stdout], [0, 'trs_1\n'])
  assert.match(stderr, /src\/a is in the trash\..*stq files restore shop trs_1/)
  assert.match((await stq(['files', 'restore', 'shop', 'trs_1'], { url: service.url })).stderr, /src\/trs_1 is back/)
})
