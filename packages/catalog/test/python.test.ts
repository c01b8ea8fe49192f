import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type RuntimeInput, runtimeTypeOf } from '@stackquay/catalog'
import { runtimeInput } from './support/inputs.ts'

const kind = runtimeTypeOf('python')!

function server(
  said: Readonly<Record<string, unknown>>,
  source: RuntimeInput['source'],
  over: Partial<RuntimeInput> = {},
) {
  const toolchain = { version: '3.12.4', program: '/usr/bin/python3', directory: '/usr/bin' }
  return kind.toWorkloads(runtimeInput(kind, said, { source, toolchain, ...over }))[0]!
}

describe('A Python project', () => {
  test('is installed into a virtual environment outside its source, made with the chosen interpreter', () => {
    const job = server({}, { 'app.py': 'app = Flask(__name__)', 'requirements.txt': 'flask' }).setup[0]!
    assert.deepEqual(job.argv.slice(4, 6), ['/usr/bin/python3', '/home/tools/prj_1/venv-3.12'])
    assert.deepEqual(job.argv.slice(-2), ['-r', 'requirements.txt'])
    assert.equal(job.creates, '/home/tools/prj_1/venv-3.12/bin/python')
  })

  test('is installed again when a file that requirements.txt includes changes', () => {
    const text = '-r base.txt\n--constraint=limits.txt # why\n-r ../outside.txt\n-r /etc/x\nflask\n'
    const { inputs } = server({}, { 'app.py': 'app = Flask(__name__)', 'requirements.txt': text }).setup[0]!
    assert.deepEqual(
      inputs.filter((file) => !/(uv\.lock|pyproject\.toml|setup\.py)$/.test(file)),
      ['requirements.txt', 'base.txt', 'limits.txt'].map((file) => `/projects/shop/${file}`),
    )
  })

  test('gets the server it does not name, and keeps the one it does', () => {
    const words = (requirements: string) =>
      server(
        { preset: 'wsgi' },
        { 'wsgi.py': 'application = get_wsgi_application()', 'requirements.txt': requirements },
      ).setup[0]!.argv
    assert.equal(words('django').at(-1), 'gunicorn')
    assert.equal(words('django\ngunicorn==22.0').at(-1), 'requirements.txt')
    assert.equal(words('gunicorn-extra').at(-1), 'gunicorn')
  })

  test('is installed with uv when it is chosen, and says so when uv is missing', () => {
    const source = { 'main.py': 'app = FastAPI()', 'uv.lock': 'name = "uvicorn"', 'pyproject.toml': '' }
    const uv = { version: '0.9.0', program: '/opt/uv', directory: '/opt' }
    const job = server({ preset: 'asgi', packageManager: 'uv' }, source, { helpers: { uv } }).setup[0]!
    assert.equal(job.title, 'Install dependencies (uv sync)')
    assert.deepEqual(job.argv.slice(4), ['/opt/uv', '/usr/bin/python3', '/home/tools/prj_1/venv-3.12'])
    assert.throws(() => server({ preset: 'asgi', packageManager: 'uv' }, source, { helpers: {} }), {
      field: 'packageManager',
    })
  })

  test('waits for its file in an empty folder, and asks for "application" where none is found', () => {
    assert.match(server({}, {}).requires[0]!.hint, /app\.py is missing/)
    assert.throws(() => server({}, { 'app.py': 'print(1)' }), { field: 'application' })
    const named = server({ application: 'shop.web:site' }, {}).requires[0]!
    assert.deepEqual(named.anyOf, ['/projects/shop/shop/web.py', '/projects/shop/shop/web/__init__.py'])
  })

  test('refuses an application that could be an option of the program that gets it', () => {
    for (const application of ['-c', 'app app', 'app:', ':app', 'app;x', '--help', 'a:b:c']) {
      assert.equal(kind.settings.patch.safeParse({ application }).success, false, application)
    }
  })

  test('opens debugpy on loopback and installs it', () => {
    const spec = server({ debug: true }, { 'app.py': 'app = Flask(__name__)', 'requirements.txt': 'flask' })
    assert.deepEqual(spec.run.argv.slice(1, 5), ['-m', 'debugpy', '--listen', '127.0.0.1:21006'])
    assert.equal(spec.setup[0]!.argv.at(-1), 'debugpy')
  })
})
