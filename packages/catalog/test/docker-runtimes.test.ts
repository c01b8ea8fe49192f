import assert from 'node:assert/strict'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { waitFor } from '@stackquay/testkit'
import { type DockerProject, dockerProject } from './support/docker-project.ts'
import { type DockerFixture, dockerFixture, oursOn } from './support/docker-stage.ts'
import { buildPhpImage } from './support/php-image.ts'
import { without } from './support/real-runs.ts'
import { nodeTestSource, pytestSource } from './support/suite-sources.ts'

/** Small sources, as the service resolves them, on our Docker engine: all at once. */
describe('Runtimes in containers', { concurrency: true }, () => {
  let fixture: DockerFixture

  before(async () => {
    const ours = (['node', 'python', 'ruby'] as const).map((name) => oursOn(name))
    fixture = await dockerFixture({ images: ['node', 'python', 'ruby', 'golang', 'php', 'nginx', ...ours] })
    await buildPhpImage(fixture.lab, oursOn('php').tag, join(fixture.folder, 'php-context'))
  })

  after(() => fixture?.close())

  test('Node.js: dependencies are installed, and kept over a restart', async () => {
    const project = await dockerProject(fixture, 'node', {
      'package.json': JSON.stringify({
        type: 'module',
        scripts: { dev: 'node server.js' },
        dependencies: { ms: '2.1.3' },
      }),
      'server.js': `import { createServer } from 'node:http'
import ms from 'ms'
createServer((_request, answer) => answer.end('a day has ' + ms('1d') + ' ms')).listen(process.env.PORT, process.env.HOST)
`,
    })
    await answers(project, 'a day has 86400000 ms')
    const installed = () => statSync(join(project.path, 'node_modules/ms')).ctimeMs
    const before = installed()
    await project.stop()
    await assert.rejects(project.ask())
    await answers(project, 'a day has 86400000 ms')
    assert.equal(installed(), before)
  })

  test('Python: an application of Flask with what its requirements name', async () => {
    const project = await dockerProject(
      fixture,
      'python',
      {
        'requirements.txt': 'flask\n',
        'app.py': `from flask import Flask

app = Flask(__name__)


@app.get("/")
def index():
    return "hello from Flask"
`,
      },
      { preset: 'flask' },
    )
    await answers(project, 'hello from Flask')
  })

  test('Go: built, run, and built again when its source changes in development', async () => {
    const production = await dockerProject(fixture, 'go', goSource('built'), { mode: 'production' })
    const development = await dockerProject(fixture, 'go', goSource('first'), { mode: 'development' })
    await Promise.all([answers(production, 'built'), answers(development, 'first')])
    writeFileSync(join(development.path, 'main.go'), goSource('second')['main.go']!)
    const isSecond = async () => (await development.ask()).text === 'second'
    await waitFor('the new program', isSecond, { timeoutMs: 120_000, everyMs: 200 })
  })

  test('Ruby: a server with the gem that its Gemfile names', async () => {
    const project = await dockerProject(fixture, 'ruby', rubySource, {
      preset: 'rack',
      command: ['bundle', 'exec', 'ruby', 'server.rb'],
    })
    await answers(project, 'hello from a gem')
  })

  test('PHP: a page behind FPM', async () => {
    const project = await dockerProject(
      fixture,
      'php',
      { 'public/index.php': `<?php echo 'hello from ', PHP_SAPI;` },
      { preset: 'plain', documentRoot: 'public' },
    )
    await answers(project, 'hello from fpm-fcgi')
  })

  test('Static files: a folder as it is', async () => {
    const project = await dockerProject(fixture, 'static', { 'index.html': '<h1>hello</h1>' })
    await answers(project, '<h1>hello</h1>')
  })

  test('node:test: its results are those that people saw', async () => {
    const project = await dockerProject(fixture, 'node', nodeTestSource, { server: false })
    const { output, code, results } = await project.test('node-test')
    assert.deepEqual(outcomes(results), { passed: 4, failed: 2, skipped: 2 }, output)
    assert.match(output, /pass 4\n/)
    assert.notEqual(code, 0)
  })

  test('pytest: its results are those that people saw', async () => {
    const project = await dockerProject(fixture, 'python', without(pytestSource, 'tests/test_broken.py'), {
      server: false,
    })
    const { output, code, results } = await project.test('pytest')
    assert.deepEqual(outcomes(results), { passed: 2, failed: 2, skipped: 2 }, output)
    assert.notEqual(code, 0)
  })

  test('go test: our program passes its events on and keeps them', async () => {
    const project = await dockerProject(fixture, 'go', {
      ...goSource('tested'),
      'main_test.go': `package main

import "testing"

func TestRight(t *testing.T) {}

func TestWrong(t *testing.T) { t.Error("it is wrong") }
`,
    })
    const { output, code, results } = await project.test('go-test')
    assert.deepEqual(outcomes(results), { passed: 1, failed: 1, skipped: 0 }, output)
    assert.match(output, /it is wrong/)
    assert.equal(code, 1)
    assert.ok(readdirSync(project.path).every((name) => !name.includes('results')))
  })
})

/** Started, it answers with this. */
async function answers(project: DockerProject, text: string): Promise<void> {
  await project.start()
  assert.deepEqual(await project.ask(), { status: 200, text })
}

function outcomes(results: { readonly cases: readonly { readonly outcome: string }[] }) {
  const count = (outcome: string) => results.cases.filter((one) => one.outcome === outcome).length
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') }
}

/** With a gem of its own: the registry of gems is not everywhere. */
const rubySource = {
  Gemfile: `gem 'greeting', path: 'greeting'\n`,
  'greeting/greeting.gemspec': `Gem::Specification.new do |gem|
  gem.name = 'greeting'
  gem.version = '1.0.0'
  gem.summary = 'A greeting'
  gem.authors = ['Shop']
  gem.files = ['lib/greeting.rb']
end
`,
  'greeting/lib/greeting.rb': `GREETING = 'hello from a gem'\n`,
  'config.ru': '',
  'server.rb': `require 'greeting'
require 'socket'

server = TCPServer.new(ENV.fetch('HOST'), ENV.fetch('PORT').to_i)
loop do
  Thread.new(server.accept) do |client|
    nil until ['', "\\r\\n"].include?(client.gets.to_s)
    client.write "HTTP/1.1 200 OK\\r\\nContent-Length: #{GREETING.bytesize}\\r\\nConnection: close\\r\\n\\r\\n#{GREETING}"
    client.close
  end
end
`,
}

function goSource(text: string): Readonly<Record<string, string>> {
  return {
    'go.mod': 'module example.org/shop\n\ngo 1.19\n',
    'main.go': `package main

import (
	"fmt"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprint(answer, "${text}") })
	if err := http.ListenAndServe(os.Getenv("HOST")+":"+os.Getenv("PORT"), nil); err != nil {
		panic(err)
	}
}
`,
  }
}
