import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { runtimeTypeOf } from '@stackquay/catalog'
import { type DockerLab, dockerLab } from '@stackquay/testkit/docker-lab'
import { containerRuntimeInput } from './support/inputs.ts'
import { buildPhpImage } from './support/php-image.ts'

/** What our image of PHP serves with, in the lab's PHP, as a user whom that does not know and who may do nothing. */
describe('PHP in a container', () => {
  let lab: DockerLab
  let folder: string
  let project: string
  let address: string

  before(async () => {
    lab = await dockerLab({ images: ['php', 'nginx'] })
    folder = mkdtempSync(join(tmpdir(), 'stackquay-php-'))
    chmodSync(folder, 0o755)
    await buildPhpImage(lab, 'php-with-nginx', join(folder, 'context'))

    project = join(folder, `it's $here`)
    mkdirSync(join(project, 'public/sub'), { recursive: true })
    writeFileSync(join(project, 'public/index.php'), page)
    writeFileSync(join(project, 'public/style.css'), 'body {}')
    writeFileSync(join(project, 'public/.env'), 'SECRET=1')
    const kind = runtimeTypeOf('php')!
    const input = containerRuntimeInput(kind, { preset: 'symfony', ini: { memory_limit: '77M' }, port: 8000 })
    const [spec] = kind.toWorkloads({ ...input, project: { ...input.project, path: project } })
    const [program, ...words] = spec!.run.argv
    await lab.docker([
      ...['run', '--detach', '--init', '--name', 'php', '--user', '54321:54321', '--cap-drop', 'ALL'],
      ...['--security-opt', 'no-new-privileges', '--env', 'GREETING=hello there'],
      ...['--volume', `${project}:${project}:ro`, '--workdir', project, '--entrypoint', program],
      ...['php-with-nginx', ...words],
    ])
    address = await lab.docker(['inspect', '--format', '{{.NetworkSettings.IPAddress}}', 'php'])
    await answering(() => ask('/style.css'))
  })

  after(async () => {
    await lab?.close()
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })

  test('runs the front controller for what is no file, with the request as it was made', async () => {
    const { json } = await ask('/some/route?x=1', {
      headers: { host: 'shop.localhost:8780', proxy: 'evil' },
      body: 'abc',
    })
    assert.deepEqual(json(), {
      uri: '/some/route?x=1',
      host: 'shop.localhost:8780',
      script: `${project}/public/index.php`,
      root: `${project}/public`,
      query: { x: '1' },
      info: '',
      body: 3,
      proxy: false,
      greeting: 'hello there',
      memory: '77M',
      user: 54321,
    })
    const { info } = (await ask('/index.php/a/b')).json() as { info: string }
    assert.equal(info, '/a/b')
  })

  test('serves files itself, and none that is hidden', async () => {
    const style = await ask('/style.css')
    assert.equal(style.text, 'body {}')
    assert.match(String(style.headers['content-type']), /^text\/css/)
    for (const path of ['/.env', '/missing.php']) assert.equal((await ask(path)).status, 404, path)
    const folderPath = await ask('/sub')
    assert.deepEqual([folderPath.status, folderPath.headers.location], [301, '/sub/'])
  })

  test('logs each message of PHP once, and requests', async () => {
    await ask('/?log=told-once')
    await answering(async () => assert.match(await logs(), /"GET \/\?log=told-once HTTP\/1\.1" 200/))
    assert.equal((await logs()).match(/PHP message: told-once/g)?.length, 1)
  })

  test('lets a request end when it is told to, and ends well', async () => {
    const slow = ask('/?sleep=2')
    await delay(500)
    await lab.docker(['kill', '--signal', 'TERM', 'php'])
    assert.equal((await slow).status, 200)
    assert.equal(await lab.docker(['wait', 'php']), '0')
  })

  test('ends when one of the two ends', async () => {
    await lab.docker(['start', 'php'])
    // Its address may be another one now.
    address = await lab.docker(['inspect', '--format', '{{.NetworkSettings.IPAddress}}', 'php'])
    await answering(() => ask('/style.css'))
    const processes = await lab.docker(['top', 'php', '-eo', 'pid,args'])
    const nginx = /^\s*(\d+)\s+nginx: master/m.exec(processes)?.[1]
    assert.ok(nginx, processes)
    process.kill(Number(nginx), 'SIGKILL')
    assert.equal(await lab.docker(['wait', 'php']), '137')
  })

  async function logs(): Promise<string> {
    const { stdout, stderr } = await lab.try(['logs', 'php'])
    return stdout + stderr
  }

  async function ask(path: string, said: { headers?: Record<string, string>; body?: string } = {}) {
    const method = said.body === undefined ? 'GET' : 'POST'
    const asked = request({
      host: address,
      port: 8000,
      path,
      method,
      headers: said.headers,
      agent: false,
      timeout: 30_000,
    })
    asked.end(said.body)
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    const text = (await response.toArray()).join('')
    return { status: response.statusCode, headers: response.headers, text, json: () => JSON.parse(text) as unknown }
  }
})

const page = `<?php
if (isset($_GET['log'])) error_log($_GET['log']);
if (isset($_GET['sleep'])) sleep((int) $_GET['sleep']);
echo json_encode([
  'uri' => $_SERVER['REQUEST_URI'],
  'host' => $_SERVER['HTTP_HOST'],
  'script' => __FILE__,
  'root' => $_SERVER['DOCUMENT_ROOT'],
  'query' => $_GET,
  'info' => $_SERVER['PATH_INFO'],
  'body' => strlen(file_get_contents('php://input')),
  'proxy' => getenv('HTTP_PROXY'),
  'greeting' => getenv('GREETING'),
  'memory' => ini_get('memory_limit'),
  'user' => posix_getuid(),
]);
`

async function answering(check: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + 60_000
  while (true) {
    try {
      await check()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await delay(100)
    }
  }
}
