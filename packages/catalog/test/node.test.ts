import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type RuntimeInput, runtimeTypeOf, SettingsError } from '@stackquay/catalog'
import { simpleScript } from '../src/runtimes/node/simple-script.ts'
import { packageJson, runtimeInput } from './support/inputs.ts'

const kind = runtimeTypeOf('node')!
const npm = { version: '11.19.1', program: '/usr/bin/npm', directory: '/usr/bin' }

function workloads(said: Readonly<Record<string, unknown>>, over: Partial<RuntimeInput> = {}) {
  return kind.toWorkloads(runtimeInput(kind, said, { helpers: { npm }, ...over }))
}

describe('A script of package.json', () => {
  test('is run without a shell or a package manager when it is one plain call', () => {
    assert.deepEqual(simpleScript('vite --mode staging'), ['vite', '--mode', 'staging'])
    assert.deepEqual(simpleScript(`  NODE_ENV=test node  "my server.js" '--a=b c' `), [
      'NODE_ENV=test',
      'node',
      'my server.js',
      '--a=b c',
    ])
    assert.deepEqual(simpleScript(`node a"b"'c'`), ['node', 'abc'])
  })

  test('is left to the package manager when it needs a shell', () => {
    const scripts = [
      'tsc && vite',
      'node a.js | pino',
      'node $FILE',
      'node "$FILE"',
      'a; b',
      'node `x`',
      'rm *.js',
      'cd x',
      '',
    ]
    for (const script of [
      ...scripts,
      'npm run other',
      'node "open',
      'node a.js &',
      'node a > log',
      'X=1',
      'node ~/a.js',
    ]) {
      assert.equal(simpleScript(script), null, script)
    }
    const source = packageJson({ scripts: { dev: 'tsc -b && node out.js' } })
    const [spec] = workloads({ preset: 'generic' }, { source })
    assert.deepEqual(spec!.run.argv, ['/usr/bin/npm', 'run', 'dev'])
  })

  test('keeps its hooks: npm runs it', () => {
    const source = packageJson({ scripts: { dev: 'node a.js', predev: 'node b.js' } })
    assert.deepEqual(workloads({}, { source })[0]!.run.argv, ['/usr/bin/npm', 'run', 'dev'])
  })

  test('gets the framework’s flags when its last command is the framework', () => {
    const source = packageJson({
      scripts: { go: 'tsc -b && vite', odd: 'vite && echo done' },
      devDependencies: { vite: '8' },
    })
    const flags = ['--', '--host', '127.0.0.1', '--port', '20004', '--strictPort']
    const run = (script: string) => workloads({ preset: 'vite', script }, { source })[0]!.run.argv
    assert.deepEqual(run('go'), ['/usr/bin/npm', 'run', 'go', ...flags])
    assert.deepEqual(run('odd'), ['/usr/bin/npm', 'run', 'odd'])
  })

  test('that is not there is refused with the names of those that are', () => {
    const source = packageJson({ scripts: { serve: 'node a.js', lint: 'biome' } })
    assert.throws(
      () => workloads({ script: 'dev' }, { source }),
      (error: SettingsError) =>
        error.field === 'script' && /no script "dev"/.test(error.message) && /"serve", "lint"/.test(error.hint),
    )
    assert.throws(() => workloads({}, { source }), {
      field: 'script',
      message: 'package.json has no script "dev" or "start".',
    })
    assert.throws(() => workloads({ mode: 'production', buildScript: 'x', script: 'serve' }, { source }), {
      field: 'buildScript',
    })
  })
})

describe('A Node.js project', () => {
  test('without a package.json waits for it, installs nothing, and is told about "static"', () => {
    for (const said of [{ preset: 'vite' }, { preset: 'generic' }, { script: 'dev' }]) {
      const [spec] = workloads(said)
      assert.deepEqual(spec!.setup, [])
      assert.deepEqual(spec!.requires[0]!.anyOf, ['/projects/shop/package.json'])
      assert.match(spec!.requires[0]!.hint, /No package\.json .* "static"/)
    }
  })

  test('runs its entry file, watched in development, when it has no script', () => {
    const source = { ...packageJson({ dependencies: {} }), 'src/server.ts': '' }
    const argv = (mode: string) => workloads({ mode, preset: 'express' }, { source })[0]!.run.argv
    assert.deepEqual(argv('development'), [
      '/tools/bin/program',
      '--watch',
      '--watch-preserve-output',
      '/projects/shop/src/server.ts',
    ])
    assert.deepEqual(argv('production'), ['/tools/bin/program', '/projects/shop/src/server.ts'])
  })

  test('installs exactly what its lock file says, again when it or package.json changes', () => {
    const fields = { scripts: { dev: 'node a.js' }, dependencies: { x: '1' } }
    const install = (manager: string, files: object) =>
      workloads(
        { packageManager: manager },
        {
          source: { ...packageJson(fields), ...files },
          helpers: Object.fromEntries(
            ['npm', 'pnpm', 'yarn', 'bun'].map((name) => [name, { ...npm, program: `/bin/${name}` }]),
          ),
        },
      )[0]!.setup[0]!
    assert.deepEqual(install('npm', { 'package-lock.json': '{}' }).argv.slice(0, 2), ['/bin/npm', 'ci'])
    assert.deepEqual(install('npm', {}).argv.slice(0, 2), ['/bin/npm', 'install'])
    assert.ok(install('pnpm', { 'pnpm-lock.yaml': '' }).argv.includes('--frozen-lockfile'))
    assert.ok(install('yarn', { 'yarn.lock': '' }).argv.includes('--frozen-lockfile'))
    assert.ok(install('yarn', { 'yarn.lock': '', '.yarnrc.yml': '' }).argv.includes('--immutable'))
    assert.ok(install('bun', { 'bun.lock': '' }).argv.includes('--frozen-lockfile'))
    const job = install('npm', { 'package-lock.json': '{}' })
    assert.deepEqual(job.inputs.slice(0, 2), ['/projects/shop/package.json', '/projects/shop/package-lock.json'])
    assert.equal(job.creates, '/projects/shop/node_modules')
    assert.match(String(job.env.PATH), /^\/tools\/bin:/)
  })

  test('installs a workspace at its top and runs the package in its folder', () => {
    const source = {
      'package.json': JSON.stringify({ workspaces: ['apps/*'] }),
      'package-lock.json': '{}',
      'apps/web/package.json': JSON.stringify({ scripts: { dev: 'vite' }, devDependencies: { vite: '8' } }),
    }
    const [spec] = workloads({ preset: 'vite', package: 'apps/web' }, { source })
    assert.equal(spec!.run.cwd, '/projects/shop/apps/web')
    assert.equal(spec!.setup[0]!.cwd, '/projects/shop')
    assert.match(
      String(spec!.env.PATH),
      /^\/projects\/shop\/apps\/web\/node_modules\/\.bin:\/projects\/shop\/node_modules\/\.bin:\/tools\/bin:/,
    )
  })

  test('gives installation the tokens of registries, not the variables of the application', () => {
    const source = packageJson({ scripts: { dev: 'node a' }, dependencies: { x: '1' } })
    const env = {
      NPM_TOKEN: 't',
      HTTPS_PROXY: 'p',
      GREETING: 'g',
      DATABASE_URL: 'd',
      npm_config_registry: 'r',
      NODE_AUTH_TOKEN: 'n',
    }
    const job = workloads({}, { source, env })[0]!.setup[0]!
    assert.deepEqual(
      Object.keys(env).filter((name) => name in job.env),
      ['NPM_TOKEN', 'HTTPS_PROXY', 'npm_config_registry', 'NODE_AUTH_TOKEN'],
    )
  })

  test('names the package manager that is missing and how to get it', () => {
    const source = packageJson({ scripts: { dev: 'node a' }, dependencies: { x: '1' } })
    assert.throws(() => workloads({ packageManager: 'pnpm' }, { source }), {
      field: 'packageManager',
      message: 'pnpm is not installed on this machine.',
    })
  })

  test('tells Vite the host names it is reached by', () => {
    const source = packageJson({ scripts: { dev: 'vite' } })
    const project = { id: 'p', slug: 'shop', url: 'https://shop.dev.example.com', path: '/p', toolsPath: '/t' }
    const [spec] = workloads({ preset: 'vite' }, { source, project })
    assert.equal(spec!.env.__VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS, 'shop.dev.example.com,shop-dev.dev.example.com')
  })

  test('opens the debugger of the server process alone, or says why it cannot', () => {
    const scripts = { dev: 'A=1 node app.js', shell: 'tsc && node app.js', tool: 'tsx app.ts' }
    const source = packageJson({ scripts, dependencies: { next: '16' } })
    const spec = (said: object, env = {}) => workloads({ debug: true, ...said }, { source, env })[0]!
    assert.deepEqual(spec({}).run.argv, ['/usr/bin/env', 'A=1', 'node', '--inspect=127.0.0.1:21004', 'app.js'])
    assert.deepEqual(spec({}).ports[1], { name: 'debug', port: 21004, hostPort: 21004, bind: '127.0.0.1' })
    assert.equal(spec({ preset: 'next' }).run.argv.at(-1), '--inspect=127.0.0.1:21004')
    assert.deepEqual(spec({ preset: 'vite' }, { NODE_OPTIONS: '--max-old-space-size=99' }).env.NODE_OPTIONS, [
      '--max-old-space-size=99',
      ' --inspect=127.0.0.1:21004',
    ])
    for (const script of ['shell', 'tool']) assert.throws(() => spec({ script }), { field: 'debug' })
    assert.throws(() => spec({ preset: 'next', mode: 'production' }), { field: 'debug' })
  })

  test('has a development server beside it that shares its installation', () => {
    const source = packageJson({ scripts: { start: 'node a.js', dev: 'vite' }, devDependencies: { vite: '8' } })
    const devServer = { enabled: true, preset: 'vite', script: 'dev', port: 5173 }
    const both = workloads(
      { script: 'start', devServer, debug: true, command: ['node', 'x'] },
      { source, dependsOn: ['redis'] },
    )
    assert.deepEqual(
      both.map(({ name }) => name),
      ['node', 'node-dev'],
    )
    assert.deepEqual(
      both.map(({ setup }) => setup.length),
      [1, 0],
    )
    assert.deepEqual(both[1]!.dependsOn, ['redis', 'node'])
    assert.deepEqual(both[1]!.run.argv.slice(0, 2), ['/usr/bin/env', 'vite'])
    assert.deepEqual(
      both[1]!.ports.map(({ hostPort }) => hostPort),
      [20008],
    )

    const alone = workloads({ server: false, devServer }, { source })
    assert.deepEqual(
      alone.map(({ name, setup, dependsOn }) => [name, setup.length, dependsOn]),
      [['node-dev', 1, []]],
    )
    assert.throws(() => workloads({ server: false, devServer: { ...devServer, script: 'x' } }, { source }), {
      field: 'devServer/script',
    })
  })

  test('survives any package.json', () => {
    for (const text of ['', '[]', 'null', '{"scripts":[1]}', '{"scripts":{"dev":1}}', '{"dependencies":"x"}', '{']) {
      try {
        workloads({}, { source: { 'package.json': text } })
      } catch (error) {
        assert.ok(error instanceof SettingsError, text)
      }
      assert.doesNotThrow(() => kind.detect({ 'package.json': text }))
    }
  })
})
