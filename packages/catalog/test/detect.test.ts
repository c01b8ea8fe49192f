import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeTypes, type SourceFiles } from '@stackquay/catalog'
import { packageJson } from './support/inputs.ts'

/** The surest runtime for a source tree, as somebody who creates a project from a folder would be offered. */
function detected(source: SourceFiles) {
  const found = runtimeTypes.flatMap((kind) => {
    const result = kind.detect(source)
    return result === null ? [] : [{ kind: kind.name, ...result }]
  })
  const best = found.sort((a, b) => b.confidence - a.confidence)[0]
  return best === undefined ? null : `${best.kind} ${Object.values(best.settings).join(' ')}`
}

test('Source trees are recognised by what they ask for', () => {
  const cases: readonly [SourceFiles, string | null][] = [
    [packageJson({ devDependencies: { vite: '8' } }), 'node vite npm'],
    [packageJson({ dependencies: { nuxt: '4', vite: '8' } }), 'node nuxt npm'],
    [{ ...packageJson({ dependencies: { next: '16' } }), 'pnpm-lock.yaml': '' }, 'node next pnpm'],
    [
      packageJson({ dependencies: { '@nestjs/core': '11', express: '5' }, packageManager: 'yarn@4.1.0' }),
      'node nest yarn',
    ],
    [{ ...packageJson({ dependencies: { express: '5' } }), 'index.html': '' }, 'node express npm'],
    [packageJson({ scripts: { start: 'node a.js' } }), 'node generic npm'],
    [packageJson({ scripts: { lint: 'biome' } }), null],
    [{ 'manage.py': '', 'requirements.txt': 'Django==5' }, 'python django pip'],
    [{ 'requirements.txt': 'Flask>=3\n', 'app.py': 'site = Flask(__name__)\n' }, 'python flask pip app:site'],
    [
      { 'requirements.txt': 'flask', 'wsgi.py': 'def create_app(config=None):\n' },
      'python flask pip wsgi:create_app()',
    ],
    [
      {
        'pyproject.toml': 'dependencies = ["fastapi[standard]>=0.1"]',
        'uv.lock': '',
        'app/main.py': 'app = fastapi.FastAPI(title="x")',
      },
      'python asgi uv app.main:app',
    ],
    [{ 'requirements.txt': 'flask-cors\n' }, null],
    [{ 'requirements.txt': 'uvicorn[standard]\n' }, 'python asgi pip'],
    [{ 'go.mod': 'module x', 'main.go': '' }, 'go server'],
    [{ Gemfile: 'gem "rails"', 'bin/rails': '', ...packageJson({ devDependencies: { vite: '8' } }) }, 'ruby rails'],
    [{ Gemfile: `  gem 'sinatra', '~> 4'` }, 'ruby sinatra'],
    [{ 'config.ru': '' }, 'ruby rack'],
    [{ artisan: '', 'composer.json': '{}', ...packageJson({ devDependencies: { vite: '8' } }) }, 'php laravel'],
    [{ 'composer.json': '{"require":{"symfony/framework-bundle":"7"}}', 'public/index.php': '' }, 'php symfony'],
    [{ 'wp-load.php': '', 'index.php': '' }, 'php wordpress'],
    [{ 'public/index.php': '' }, 'php plain public'],
    [{ 'index.html': '' }, 'static plain .'],
    [{ 'dist/index.html': '' }, 'static plain dist'],
    [{}, null],
  ]
  for (const [source, expected] of cases) assert.equal(detected(source), expected, JSON.stringify(source))
})

test('Files too large to read, or folders in their place, are no blocker', () => {
  for (const kind of runtimeTypes) {
    const files = kind.sourceFiles({ ...kind.settings.defaults(), version: '1', port: 1 } as never)
    assert.doesNotThrow(() => kind.detect(Object.fromEntries(files.map((file) => [file, true as const]))))
  }
})
