import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { scratch, stq } from './run-stq.ts'
import { answerProblem, problem, standIn } from './stand-in.ts'

const line = (text: string, cursor: string) => ({
  workload: 'web',
  time: '2026-01-01T00:00:00Z',
  stream: 'stdout',
  text,
  level: null,
  cursor,
})

test('against a stand-in: logs -f filters in the service, goes on behind the last line, and ends with Ctrl-C', async () => {
  const queries: string[] = []
  await using service = await standIn(
    {},
    {
      '/projects/shop/logs/ws': (socket, query) => {
        queries.push(query.toString())
        socket.send(JSON.stringify({ type: 'start', seq: 0 }))
        const items = queries.length === 1 ? [line('one', 'c1')] : [line('two', 'c2')]
        socket.send(JSON.stringify({ type: 'lines', seq: 1, items }))
        if (queries.length === 1) socket.close()
      },
    },
  )
  const filters = ['-w', 'web', '--grep', '^(one|two)$', '--regex', '--level', 'warning']
  const { code, stdout } = await stq(['logs', 'shop', '-f', '-n', '10', ...filters, '--no-prefix'], {
    url: service.url,
    meanwhile: (child, seen) => {
      child.stdout.on('data', () => seen().includes('two') && child.kill('SIGINT'))
    },
  })
  assert.deepEqual([code, stdout], [130, 'one\ntwo\n'])
  const sent = 'workload=web&q=%5E%28one%7Ctwo%29%24&regex=true&level=warning'
  assert.deepEqual(queries, [`${sent}&tail=10`, `${sent}&cursor=c2`.replace('c2', 'c1')])
})

test('against a stand-in: logs are read between two times, and all of them go to a file that is whole or not there', async () => {
  let breaks = false
  await using service = await standIn({
    'GET /projects/shop/logs': () => ({ items: [line('one', 'c1')], nextCursor: null }),
    'GET /projects/shop/logs/download': ({ query }, response) => {
      response.writeHead(200, { 'content-type': query.get('format') === 'jsonl' ? 'application/jsonl' : 'text/plain' })
      if (!breaks) return void response.end(`${query}\n`)
      response.write('half')
      return void setImmediate(() => response.destroy())
    },
  })
  const times = ['--since', '2026-01-01T00:00:00Z', '--until', '2026-01-02T00:00:00Z']
  await stq(['logs', 'shop', ...times], { url: service.url })
  assert.equal(service.calls[0]!.query.get('until'), '2026-01-02T00:00:00.000Z')

  await using folder = await scratch()
  const file = join(folder.path, 'shop.log')
  const saved = await stq(['logs', 'shop', ...times, '-o', 'shop.log', '--json'], {
    url: service.url,
    cwd: folder.path,
  })
  assert.equal(saved.code, 0, saved.stderr)
  const query = 'since=2026-01-01T00%3A00%3A00.000Z&until=2026-01-02T00%3A00%3A00.000Z&format=jsonl\n'
  assert.equal(await readFile(file, 'utf8'), query)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.equal((await stq(['logs', 'shop', '-o', '-'], { url: service.url })).stdout, 'format=text\n')
  breaks = true
  const broken = await stq(['logs', 'shop', '-o', 'half.log'], { url: service.url, cwd: folder.path })
  assert.equal(broken.code, 6)
  await assert.rejects(stat(join(folder.path, 'half.log')))
})

for (const args of [
  ['--regex'],
  ['--until', 'lunch'],
  ['-f', '--until', '10m'],
  ['-o', 'x', '-f'],
  ['-o', 'x', '-n', '5'],
  ['--level', 'loud'],
]) {
  test(`2: "stq logs shop ${args.join(' ')}" contradicts itself, and nothing is sent`, async () => {
    const { code, stderr } = await stq(['logs', 'shop', ...args], { url: 'http://127.0.0.1:1' })
    assert.equal(code, 2, stderr)
  })
}

test('against a stand-in: events are followed with filters, one line each, as JSON objects when wanted', async () => {
  const queries: string[] = []
  const event = (seq: number) => ({
    seq,
    time: '2026-01-01T00:00:00.000Z',
    type: 'run.changed',
    project: 'prj_1',
    data: { state: 'failed', note: 'a\x1b[2Jb' },
  })
  await using service = await standIn(
    {},
    {
      '/events/ws': (socket, query) => {
        queries.push(query.toString())
        socket.send(JSON.stringify({ type: 'start', seq: 4 }))
        socket.send(JSON.stringify({ type: 'event', seq: 5, event: event(5) }))
      },
    },
  )
  const args = ['events', '--project', 'shop', '--types', 'run.*, project.status', '--after', '4']
  const untilLine = {
    url: service.url,
    meanwhile: (child: { stdout: NodeJS.ReadableStream; kill(signal: 'SIGINT'): boolean }) => {
      child.stdout.once('data', () => child.kill('SIGINT'))
    },
  }
  const human = await stq(args, untilLine)
  assert.deepEqual(
    [human.code, human.stdout],
    [130, '2026-01-01T00:00:00Z  run.changed        prj_1  {"state":"failed","note":"a\\u001b[2Jb"}\n'],
  )
  assert.deepEqual(queries, ['after=4&project=shop&types=run.*%2Cproject.status'])
  const json = await stq([...args, '--json'], untilLine)
  assert.equal(JSON.parse(json.stdout).seq, 5)
})

const hook = {
  id: 'wh_1',
  name: 'ci',
  url: 'https://ci.example/hook',
  events: ['run.changed'],
  projects: [],
  enabled: true,
  disabledReason: null,
  createdAt: '2026-01-01T00:00:00Z',
  lastDelivery: null,
}
const delivery = {
  id: 'msg_1',
  webhook: 'wh_1',
  type: 'run.changed',
  project: null,
  state: 'failed',
  attempts: [{ at: '2026-01-01T00:00:00Z', status: 500, error: null, durationSeconds: 0.2 }],
  nextAttemptAt: null,
  createdAt: '2026-01-01T00:00:00Z',
  payload: {},
}

test('against a stand-in: webhooks are made, listed, changed, tried, sent again and deleted; the secret is shown once', async () => {
  await using service = await standIn({
    'GET /webhooks': () => ({ items: [hook] }),
    'POST /webhooks': () => ({ ...hook, secret: 'whsec_abc' }),
    'PATCH /webhooks/wh_1': () => hook,
    'POST /webhooks/wh_1/rotate': () => ({ ...hook, secret: 'whsec_new' }),
    'POST /webhooks/wh_1/test': () => delivery,
    'GET /webhooks/wh_1/deliveries': () => ({ items: [delivery], nextCursor: null }),
    'POST /webhooks/wh_1/deliveries/msg_1/redeliver': () => ({ ...delivery, state: 'pending' }),
    'DELETE /webhooks/wh_1': (_call, response) => void response.writeHead(204).end(),
  })
  const options = { url: service.url }
  const bodyOf = (start: string) => service.calls.findLast(({ method, path }) => `${method} ${path}` === start)?.body
  const made = await stq(['webhooks', 'create', 'ci', hook.url, '--events', 'run.changed', '-p', 'shop'], options)
  assert.equal(made.stdout, 'whsec_abc\n')
  assert.deepEqual(bodyOf('POST /webhooks'), { name: 'ci', url: hook.url, events: ['run.changed'], projects: ['shop'] })
  assert.equal((await stq(['webhooks', 'create', 'ci', hook.url], options)).code, 2)

  assert.match((await stq(['webhooks'], options)).stdout, /ci +✔ ok +run\.changed +- +https:\/\/ci\.example\/hook\n/)
  await stq(['webhooks', 'update', 'ci', '--disable', '--to', 'https://x.example'], options)
  assert.deepEqual(bodyOf('PATCH /webhooks/wh_1'), { url: 'https://x.example', enabled: false })
  assert.equal((await stq(['webhooks', 'update', 'ci'], options)).code, 2)
  assert.equal((await stq(['webhooks', 'rotate', 'wh_1'], options)).stdout, 'whsec_new\n')
  const tried = await stq(['webhooks', 'test', 'ci'], options)
  assert.equal(tried.code, 1)
  assert.match(tried.stderr, /It was not delivered: 500 in 0\.2 s\./)
  const list = await stq(['webhooks', 'deliveries', 'ci', '--state', 'failed'], options)
  assert.match(list.stdout, /msg_1 +✖ failed .* run\.changed +1 +500 in 0\.2 s\n/)
  assert.equal((await stq(['webhooks', 'redeliver', 'ci', 'msg_1'], options)).code, 0)
  assert.equal((await stq(['webhooks', 'delete', 'ci'], options)).code, 2)
  assert.equal((await stq(['webhooks', 'delete', 'ci', '--yes'], options)).code, 0)
  const mistyped = await stq(['webhooks', 'delete', 'cii', '--yes'], options)
  assert.equal(mistyped.code, 4)
  assert.match(mistyped.stderr, /Did you mean "ci"\? All of them: stq webhooks/)
})

test('against a stand-in: a follow that may not begin says why and does not go on trying', async () => {
  await using service = await standIn({
    'GET /events': (_call, response) => answerProblem(response, problem(403, 'scope_insufficient')),
  })
  assert.equal((await stq(['events'], { url: service.url })).code, 3)
})
