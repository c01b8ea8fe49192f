import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type RuntimeInput, runtimeTypeOf, type SourceFiles, type WorkloadSpec } from '@stackquay/catalog'
import { packageJson, runtimeInput } from './support/inputs.ts'

/** What each preset runs, in both modes: literals, because people see them in `ps` and depend on the flags. */
const cases: readonly {
  readonly runtime: string
  readonly preset: string
  readonly mode: 'development' | 'production'
  readonly source: SourceFiles
  readonly run: string
  readonly jobs: readonly string[]
}[] = [
  both('node', 'generic', packageJson({ scripts: { dev: 'node --watch app.js', start: 'node app.js' } }), {
    development: ['/usr/bin/env node --watch app.js'],
    production: ['/usr/bin/env node app.js'],
  }),
  both('node', 'express', packageJson({ scripts: { start: 'node app.js' }, dependencies: { express: '5' } }), {
    development: ['/usr/bin/env node app.js', 'install'],
    production: ['/usr/bin/env node app.js', 'install'],
  }),
  both('node', 'vite', packageJson({ scripts: { dev: 'vite --open' }, devDependencies: { vite: '8' } }), {
    development: ['/usr/bin/env vite --open --host 127.0.0.1 --port 20004 --strictPort', 'install'],
    production: ['/usr/bin/env vite preview --host 127.0.0.1 --port 20004 --strictPort', 'install', 'build'],
  }),
  both('node', 'next', packageJson({ scripts: { dev: 'next dev' }, dependencies: { next: '16' } }), {
    development: ['/usr/bin/env next dev -H 127.0.0.1 -p 20004', 'install'],
    production: ['/usr/bin/env next start -H 127.0.0.1 -p 20004', 'install', 'build'],
  }),
  both('node', 'nuxt', packageJson({ dependencies: { nuxt: '4' } }), {
    development: ['/usr/bin/env nuxt dev --host 127.0.0.1 --port 20004', 'install'],
    production: ['/tools/bin/program /projects/shop/.output/server/index.mjs', 'install', 'build'],
  }),
  both(
    'node',
    'nest',
    packageJson({ scripts: { 'start:dev': 'nest start --watch' }, dependencies: { '@nestjs/core': '11' } }),
    {
      development: ['/usr/bin/env nest start --watch', 'install'],
      production: ['/tools/bin/program /projects/shop/dist/main.js', 'install', 'build'],
    },
  ),
  both(
    'python',
    'flask',
    { 'app.py': 'app = Flask(__name__)', 'requirements.txt': 'flask' },
    {
      development: [`${venv()} -m flask --app app:app run --host 127.0.0.1 --port 20006 --debug`, 'install'],
      production: [`${venv()} -m gunicorn --bind 127.0.0.1:20006 --access-logfile - app:app`, 'install'],
    },
  ),
  both(
    'python',
    'django',
    { 'manage.py': `os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")`, 'requirements.txt': 'django' },
    {
      development: [`${venv()} manage.py runserver 127.0.0.1:20006`, 'install'],
      production: [`${venv()} -m gunicorn --bind 127.0.0.1:20006 --access-logfile - shop.wsgi:application`, 'install'],
    },
  ),
  both(
    'python',
    'asgi',
    { 'main.py': 'api: FastAPI = FastAPI()', 'requirements.txt': 'fastapi' },
    {
      development: [`${venv()} -m uvicorn main:api --host 127.0.0.1 --port 20006 --reload`, 'install'],
      production: [`${venv()} -m uvicorn main:api --host 127.0.0.1 --port 20006`, 'install'],
    },
  ),
  both(
    'python',
    'wsgi',
    { 'wsgi.py': 'application = get_wsgi_application()' },
    {
      development: [
        `${venv()} -m gunicorn --bind 127.0.0.1:20006 --access-logfile - wsgi:application --reload`,
        'install',
      ],
      production: [`${venv()} -m gunicorn --bind 127.0.0.1:20006 --access-logfile - wsgi:application`, 'install'],
    },
  ),
  both(
    'python',
    'module',
    { 'main.py': '' },
    {
      development: ['/tools/bin/program -m main'],
      production: ['/tools/bin/program -m main'],
    },
  ),
  both(
    'go',
    'server',
    { 'go.mod': 'module shop\n\nrequire example.com/x v1.0.0\n' },
    {
      development: [
        '/our/node …/go-watch.ts --go /tools/bin/program --package . --output /home/tools/prj_1/go-bin/server-development',
        'install',
      ],
      production: ['/home/tools/prj_1/go-bin/server', 'install', 'build'],
    },
  ),
  both(
    'ruby',
    'rails',
    { Gemfile: `gem "rails"`, 'bin/rails': '' },
    {
      development: [rails(), 'install'],
      production: [rails(), 'install'],
    },
  ),
  both(
    'ruby',
    'sinatra',
    { Gemfile: `gem 'sinatra'`, 'app.rb': '' },
    {
      development: ['/tools/bin/program -S bundle exec ruby app.rb -o 127.0.0.1 -p 20004', 'install'],
      production: ['/tools/bin/program -S bundle exec ruby app.rb -o 127.0.0.1 -p 20004', 'install'],
    },
  ),
  both(
    'ruby',
    'rack',
    { Gemfile: `gem "puma"`, 'config.ru': '' },
    {
      development: ['/tools/bin/program -S bundle exec puma --bind tcp://127.0.0.1:20004', 'install'],
      production: ['/tools/bin/program -S bundle exec puma --bind tcp://127.0.0.1:20004', 'install'],
    },
  ),
  both(
    'php',
    'plain',
    {},
    {
      development: ['/tools/bin/program -S 127.0.0.1:20003 -t /projects/shop'],
      production: ['/tools/bin/program -S 127.0.0.1:20003 -t /projects/shop'],
    },
  ),
  both(
    'php',
    'laravel',
    { 'composer.json': '{}' },
    {
      development: ['/tools/bin/program artisan serve --host=127.0.0.1 --port=20003 --tries=1 --no-reload', 'install'],
      production: ['/tools/bin/program artisan serve --host=127.0.0.1 --port=20003 --tries=1 --no-reload', 'install'],
    },
  ),
  both(
    'php',
    'symfony',
    { 'composer.json': '{}' },
    {
      development: ['/tools/bin/program -S 127.0.0.1:20003 -t /projects/shop/public', 'install'],
      production: ['/tools/bin/program -S 127.0.0.1:20003 -t /projects/shop/public', 'install'],
    },
  ),
  both(
    'php',
    'wordpress',
    {},
    {
      development: ['/tools/bin/program -S 127.0.0.1:20003 -t /projects/shop'],
      production: ['/tools/bin/program -S 127.0.0.1:20003 -t /projects/shop'],
    },
  ),
  both(
    'static',
    'plain',
    {},
    {
      development: ['/our/node …/static-server.ts --root /projects/shop --port 20006'],
      production: ['/our/node …/static-server.ts --root /projects/shop --port 20006'],
    },
  ),
].flat()

describe('A server of every preset and mode', () => {
  for (const { runtime, preset, mode, source, run, jobs } of cases) {
    test(`${runtime} ${preset} in ${mode}`, () => {
      const [spec] = specs(runtime, { preset, mode }, { source })
      const shown = spec!.run.argv.map((word) => word.replace(/^.*\/src\/runtimes\/.*\//, '…/')).join(' ')
      assert.equal(shown, run)
      assert.deepEqual(
        spec!.setup.map((job) => job.name),
        jobs,
      )
    })
  }

  test('covers every preset there is', () => {
    for (const name of ['node', 'python', 'go', 'ruby', 'php', 'static']) {
      const presets = runtimeTypeOf(name)!.presets.map((preset) => preset.name)
      const covered = new Set(cases.filter((entry) => entry.runtime === name).map((entry) => entry.preset))
      assert.deepEqual([...covered].sort(), [...presets].sort())
    }
  })

  for (const { runtime, preset, mode, source } of cases) {
    test(`${runtime} ${preset} in ${mode} listens on loopback at its leased port and says so in its environment`, () => {
      const env = { HOST: 'theirs', GREETING: 'hello', PORT: '1', DATABASE_URL: [{ secret: 's', version: 1 }] }
      const [spec] = specs(runtime, { preset, mode }, { source, env, dependsOn: ['postgresql-main'] })
      const port = 20000 + runtime.length
      assert.deepEqual(spec!.ports, [{ name: 'http', port, hostPort: port, bind: '127.0.0.1' }])
      assert.equal(spec!.env.PORT, String(port))
      assert.equal(spec!.env.HOST, 'theirs')
      assert.equal(spec!.env.GREETING, 'hello')
      assert.deepEqual(spec!.env.DATABASE_URL, [{ secret: 's', version: 1 }])
      assert.deepEqual(spec!.health, { kind: 'tcp', port: 'http', timeoutSeconds: mode === 'development' ? 120 : 60 })
      assert.deepEqual(spec!.dependsOn, ['postgresql-main'])
      assert.match(spec!.run.argv[0], /^\//)
      for (const job of spec!.setup) {
        assert.match(job.argv[0], /^\//)
        assert.ok(job.timeoutSeconds > 0)
        if (job.name === 'install') assert.equal('DATABASE_URL' in job.env, false, 'installing knows no passwords')
      }
    })
  }

  test('runs nothing while "server" is off', () => {
    for (const name of ['node', 'python', 'go', 'ruby', 'php', 'static']) {
      assert.deepEqual(specs(name, { server: false }), [])
    }
  })

  test('runs the person’s own command instead, found through PATH unless it is absolute', () => {
    for (const name of ['node', 'python', 'go', 'ruby', 'php', 'static']) {
      const own = (command: string[]) => specs(name, { command }, { source: packageJson({}) })[0]!.run.argv
      assert.deepEqual(own(['serve', 'a b', '$HOME']), ['/usr/bin/env', 'serve', 'a b', '$HOME'])
      assert.deepEqual(own(['/opt/x', '-v']), ['/opt/x', '-v'])
    }
  })

  test('is asked over HTTP when a health path is set', () => {
    const [spec] = specs('static', {}, { healthCheck: { path: '/up', timeoutSeconds: 9 } })
    assert.deepEqual(spec!.health, { kind: 'http', port: 'http', path: '/up', status: [200, 399], timeoutSeconds: 9 })
  })

  test('is a pure function of its input', () => {
    for (const { runtime, preset, mode, source } of cases) {
      const once = specs(runtime, { preset, mode }, { source })
      assert.deepEqual(specs(runtime, { preset, mode }, { source }), once)
      assert.deepEqual(JSON.parse(JSON.stringify(once)), once)
    }
  })
})

function specs(name: string, said: object, over: Partial<RuntimeInput> = {}): readonly WorkloadSpec[] {
  const kind = runtimeTypeOf(name)!
  return kind.toWorkloads(runtimeInput(kind, said as Record<string, unknown>, { ...versionOf(name), ...over }))
}

function versionOf(name: string): Partial<RuntimeInput> {
  const version = name === 'python' ? '3.11.2' : '26.10.0'
  return { toolchain: { version, program: '/tools/bin/program', directory: '/tools/bin' } }
}

function both(
  runtime: string,
  preset: string,
  source: SourceFiles,
  expected: { development: [string, ...string[]]; production: [string, ...string[]] },
) {
  return (['development', 'production'] as const).map((mode) => {
    const [run, ...jobs] = expected[mode]
    return { runtime, preset, mode, source, run, jobs }
  })
}

function venv(): string {
  return '/home/tools/prj_1/venv-3.11/bin/python'
}

function rails(): string {
  const pid = '/home/tools/prj_1/rails-20004.pid'
  const script = 'pid=$1; shift; rm -f "$pid"; exec "$@"'
  return `/bin/sh -c ${script} rails ${pid} /tools/bin/program -S bundle exec rails server -b 127.0.0.1 -p 20004 -P ${pid}`
}
