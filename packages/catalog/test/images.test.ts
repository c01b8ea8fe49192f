import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { databaseTypes, type RuntimeType, runtimeTypes, serviceTypes, type WorkloadSpec } from '@stackquay/catalog'
import {
  containerDatabaseInput,
  containerRuntimeInput,
  containerServiceInput,
  packageJson,
  runtimeInput,
} from './support/inputs.ts'

const kinds = [...runtimeTypes, ...serviceTypes, ...databaseTypes]

describe('The image of every kind', () => {
  for (const kind of kinds) {
    const { image } = kind
    const lines = kind.releases.map(({ version }) => version)

    test(`${kind.name}: names a tag and absolute paths for every release line`, () => {
      for (const line of lines) {
        assert.match(image.reference(line), /^[a-z0-9]+(\/[a-z0-9-]+)?:[\w.-]+$/)
        assert.doesNotMatch(image.reference(line), /:latest$/)
        const paths = [image.program(line), image.node, image.data?.(line)].filter((path) => path !== undefined)
        for (const path of paths) assert.match(path, /^(\/[\w.-]+)+$/)
      }
    })

    test(`${kind.name}: keeps data in one place exactly when the kind keeps some`, () => {
      const keeps = 'keepsData' in kind && kind.keepsData
      for (const line of lines) assert.equal(image.data?.(line) !== undefined, keeps)
    })

    test(`${kind.name}: is never run as root`, () => assert.doesNotMatch(image.user ?? '', /^(root|0)(:|$)/))

    if ('helpers' in kind) {
      test(`${kind.name}: has all helpers that the kind knows`, () => {
        const named = kind.helpers.map(({ name }) => name)
        assert.deepEqual(Object.keys(image.helpers ?? {}).sort(), [...named].sort())
      })
    }

    if (image.builtIn !== undefined) {
      const { builtIn } = image
      test(`${kind.name}: is made on the official one by a Dockerfile that leaves the user to the engine`, () => {
        const text = readFileSync(
          fileURLToPath(new URL(`../../../images/${builtIn}/Dockerfile`, import.meta.url)),
          'utf8',
        )
        assert.match(text, /^ARG BASE\nFROM \$\{BASE\}\n/)
        assert.equal(text.match(/^FROM /gm)?.length, 1)
        assert.doesNotMatch(text, /^(USER|VOLUME|ENTRYPOINT) /m)
        for (const [run] of text.matchAll(/^RUN apt-get(?:.*\\\n)*.*/gm)) {
          assert.match(run, /--no-install-recommends/)
          assert.match(run, /rm -rf \/var\/lib\/apt\/lists\/\*$/)
        }
      })
    }
  }

  test('is the tag that its publisher gives a line', () => {
    const references = (name: string) => {
      const { image, releases } = kinds.find((kind) => kind.name === name)!
      return releases.map(({ version }) => image.reference(version))
    }
    assert.deepEqual(references('node').slice(0, 2), ['node:26-bookworm-slim', 'node:24-bookworm-slim'])
    assert.equal(references('postgresql')[0], 'postgres:18-bookworm')
    assert.equal(references('redis')[0], 'redis:8.10')
    assert.equal(references('meilisearch')[0], 'getmeili/meilisearch:v1.56')
    assert.deepEqual(references('typesense').slice(0, 2), ['typesense/typesense:30.2', 'typesense/typesense:29.0'])
    assert.deepEqual(references('opensearch').slice(-2), [
      'opensearchproject/opensearch:3.0.0',
      'opensearchproject/opensearch:2.19.4',
    ])
  })

  test('has the folder of PostgreSQL where its versions declare it', () => {
    const { data } = databaseTypes.find(({ name }) => name === 'postgresql')!.image
    assert.equal(data?.('17'), '/var/lib/postgresql/data')
    assert.equal(data?.('18'), '/var/lib/postgresql')
  })
})

describe('A runtime in a container', () => {
  for (const { kind, preset, mode } of everyServer()) {
    test(`${kind.name} ${preset} in ${mode} listens on every address at the port of its settings, and is published at its lease`, () => {
      const port = 4321
      const specs = kind.toWorkloads(containerRuntimeInput(kind, { preset, mode, port }, { source: sources }))
      const [spec] = specs
      assert.deepEqual(spec!.env.HOST, '0.0.0.0')
      assert.equal(spec!.env.PORT, '4321')
      assert.deepEqual(spec!.ports, [{ name: 'http', port, hostPort: 20000 + kind.name.length, bind: '127.0.0.1' }])
      assertInside(spec!)
      // What learns its port from flags is told where, too.
      if (spec!.run.argv.some((word) => word.includes('4321')))
        assert.ok(
          spec!.run.argv.some((word) => word.includes('0.0.0.0')),
          spec!.run.argv.join(' '),
        )
    })
  }

  test('opens its debugger to the machine, which publishes it on loopback alone', () => {
    const cases = [
      ['node', { preset: 'express', mode: 'production' }, '--inspect=0.0.0.0:9229'],
      ['python', { preset: 'flask' }, '-m debugpy --listen 0.0.0.0:5678'],
    ] as const
    for (const [name, said, words] of cases) {
      const kind = runtimeTypes.find((one) => one.name === name)!
      const input = containerRuntimeInput(kind, { ...said, debug: true }, { source: sources })
      const [spec] = kind.toWorkloads(input)
      assert.ok(spec!.run.argv.join(' ').includes(words), spec!.run.argv.join(' '))
      const binding = spec!.ports.find((port) => port.name === 'debug')
      const { debugPort } = input.settings
      assert.deepEqual(binding, { name: 'debug', port: debugPort, hostPort: 21000 + name.length, bind: '127.0.0.1' })
    }
  })

  test('has its development server beside it at a port of its own', () => {
    const kind = runtimeTypes.find(({ name }) => name === 'node')!
    const devServer = { enabled: true, preset: 'vite', script: 'dev', port: 5199 }
    const specs = kind.toWorkloads(containerRuntimeInput(kind, { devServer }, { source: sources }))
    const [, beside] = specs
    assert.equal(beside?.name, 'node-dev')
    assert.deepEqual(beside?.ports, [{ name: 'http', port: 5199, hostPort: 20008, bind: '127.0.0.1' }])
    assert.ok(beside?.run.argv.join(' ').endsWith('vite --host 0.0.0.0 --port 5199 --strictPort'))
    assert.equal(beside?.env.__VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS, 'shop.localhost,shop-dev.localhost')
  })

  test('serves PHP by FPM behind a web server, with its settings, and lets Xdebug call the machine', () => {
    const kind = runtimeTypes.find(({ name }) => name === 'php')!
    const said = { preset: 'laravel', port: 8000, ini: { memory_limit: '1G' }, xdebug: true, extensions: ['gd'] }
    const [spec] = kind.toWorkloads(containerRuntimeInput(kind, said))
    assert.deepEqual(spec!.run.argv, [
      ...['/usr/local/bin/serve-php', '0.0.0.0:8000', '/projects/shop/public'],
      ...['-d', 'zend_extension=xdebug', '-d', 'xdebug.mode=debug', '-d', 'xdebug.start_with_request=trigger'],
      ...['-d', 'xdebug.client_host=xdebug://gateway', '-d', 'xdebug.client_port=9003', '-d', 'memory_limit=1G'],
    ])
    const [look] = spec!.setup
    assert.deepEqual(look!.argv.slice(0, 4), ['/usr/local/bin/php', '-d', 'zend_extension=xdebug', '-r'])
    assert.match(look!.argv[4]!, /The image of PHP has no extension/)
    assert.deepEqual(look!.argv.slice(5), ['--', 'gd', 'xdebug'])

    const [onMachine] = kind.toWorkloads(runtimeInput(kind, { preset: 'laravel' }))
    assert.deepEqual(onMachine!.run.argv.slice(0, 3), ['/tools/bin/program', 'artisan', 'serve'])
  })
})

describe('A service in a container', () => {
  for (const kind of serviceTypes) {
    test(`${kind.name} listens on every address at its own ports, and is published where it may be`, () => {
      const bind = (port: string) => (port === kind.ports[0]!.name ? ('0.0.0.0' as const) : ('127.0.0.1' as const))
      const spec = kind.toWorkload(containerServiceInput(kind, {}, { bind }))
      assert.ok(spec.ports.length > 0)
      assert.equal(spec.ports[0]!.name, kind.ports[0]!.name)
      for (const binding of spec.ports) {
        const { name, port } = kind.ports.find((one) => one.name === binding.name)!
        const hostPort = 30_000 + kind.ports.findIndex((one) => one.name === name)
        assert.deepEqual(binding, { name, port, hostPort, bind: bind(name) })
        const said = JSON.stringify([spec.run.argv, spec.env])
        assert.ok(said.includes('0.0.0.0') && said.includes(String(port)), `${name}: ${said}`)
      }
      assertInside(spec)
      const names = spec.ports.map(({ name }) => name)
      assert.ok(spec.health.kind === 'none' || names.includes(spec.health.port))
    })
  }

  test('keeps ports that it needs for itself alone to itself', () => {
    for (const [name, inner] of [
      ['opensearch', ['--server-port 9201', '--transport-port 9300']],
      ['typesense', ['--peering-address=127.0.0.1', '--peering-port=8107']],
    ] as const) {
      const kind = serviceTypes.find((one) => one.name === name)!
      const spec = kind.toWorkload(containerServiceInput(kind))
      assert.deepEqual(
        spec.ports.map((port) => port.name),
        ['http'],
      )
      for (const words of inner) assert.ok(spec.run.argv.join(' ').includes(words), words)
    }
  })

  test('is named by its workload to runtimes of the project', () => {
    for (const kind of serviceTypes) {
      const values = JSON.stringify(kind.variables(containerServiceInput(kind)))
      assert.ok(values.includes(kind.name) && values.includes(String(kind.ports[0]!.port)), values)
      assert.doesNotMatch(values, leases)
    }
  })

  test('tells the mail catcher the port that browsers name', () => {
    const kind = serviceTypes.find(({ name }) => name === 'mailpit')!
    const { argv } = kind.toWorkload(containerServiceInput(kind)).run
    assert.equal(argv[argv.indexOf('--shown-port') + 1], '30001')
  })
})

describe('A database in a container', () => {
  for (const kind of databaseTypes) {
    test(`${kind.name} listens on every address at its own port`, () => {
      const input = containerDatabaseInput(kind, { bind: '0.0.0.0' })
      const spec = kind.toWorkload(input)
      assert.deepEqual(spec.ports, [{ name: kind.name, port: kind.port, hostPort: 25432, bind: '0.0.0.0' }])
      const said = spec.run.argv.join(' ')
      assert.ok(said.includes('0.0.0.0') && said.includes(String(kind.port)), said)
      assertInside(spec)
      const values = JSON.stringify([kind.variables(input, ''), kind.credentials(input)])
      assert.ok(values.includes(`@${kind.name}-main:${kind.port}/`), values)
      assert.doesNotMatch(values, leases)
    })
  }
})

const leases = /\b(?:2[01]0\d\d|3000\d|25432)\b/

/** Nothing that runs inside knows ports of the machine, or keeps to a loopback that nobody else reaches. */
function assertInside(spec: WorkloadSpec): void {
  const { argv } = spec.run
  const told = argv.indexOf('--shown-port')
  const listening = argv.filter((_, at) => told === -1 || (at !== told && at !== told + 1))
  const said = JSON.stringify([listening, spec.env, spec.setup])
  assert.doesNotMatch(said, leases)
  assert.doesNotMatch(said.replaceAll(/--peering-address=127\.0\.0\.1|\{127,0,0,1\}/g, ''), /127\.0\.0\.1/)
}

/** Enough for every preset to know what it runs. */
const sources = {
  ...packageJson({
    scripts: { dev: 'vite', start: 'node server.js', 'start:dev': 'nest start --watch' },
    dependencies: { vite: '8' },
  }),
  'server.js': '',
  'app.py': 'app = Flask(__name__)\napi = FastAPI()',
  'main.py': 'app = FastAPI()',
  'manage.py': `os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")`,
  'requirements.txt': 'flask',
  'go.mod': 'module shop\nrequire example.org/x v1.0.0\n',
  Gemfile: `gem 'sinatra'\ngem 'puma'`,
  'config.ru': '',
}

function everyServer(): readonly { kind: RuntimeType; preset: string; mode: 'development' | 'production' }[] {
  const modes = ['development', 'production'] as const
  return runtimeTypes.flatMap((kind) =>
    kind.presets.flatMap(({ name: preset }) => modes.map((mode) => ({ kind, preset, mode }))),
  )
}
