import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { openTestApp } from '../../apps/server/test/app-support.ts'
import { root } from '../repository.ts'

interface Generators {
  readonly clientGenerators: string
  readonly clientSources: string
  ensureClientGenerators(files: readonly string[]): Promise<void>
}

const module = pathToFileURL(join(root, 'tools/run/client-generators.mjs')).href
const { clientGenerators, clientSources, ensureClientGenerators }: Generators = await import(module)
const modules = join(clientGenerators, 'node_modules')
const python = join(clientGenerators, 'python', 'bin', 'python')

// `npm test` has installed them before; who runs this file alone waits here.
before(() => ensureClientGenerators(['tools/test/generated-clients.test.ts']))

test('types of openapi-typescript fit the service, with openapi-fetch', async (t) => {
  const { folder, service } = await workshop(t, ['openapi-typescript.ts'])
  await run(
    t,
    process.execPath,
    [join(modules, 'openapi-typescript/bin/cli.js'), 'openapi.json', '-o', 'schema.d.ts'],
    folder,
  )
  await checkTypes(t, folder)
  const answer = await run(t, process.execPath, ['openapi-typescript.ts', ...service], folder)
  assert.deepEqual(JSON.parse(answer), expected('Made by openapi-typescript'))
})

test('the client of @hey-api/openapi-ts works with the service', async (t) => {
  const { folder, service } = await workshop(t, ['hey-api.ts', 'hey-api.config.mjs'])
  const cli = join(modules, '@hey-api/openapi-ts/bin/run.js')
  await run(t, process.execPath, [cli, '-f', 'hey-api.config.mjs', '--no-log-file'], folder)
  await checkTypes(t, folder)
  const answer = await run(t, process.execPath, ['hey-api.ts', ...service], folder)
  assert.deepEqual(JSON.parse(answer), expected('Made by hey-api'))
})

test('the client of openapi-python-client works with the service, and nothing is left out of it', async (t) => {
  const { folder, service } = await workshop(t, ['openapi-python-client.py', 'openapi-python-client.yaml'])
  const options = ['--config', 'openapi-python-client.yaml', '--meta', 'none', '--fail-on-warning']
  await run(
    t,
    python,
    ['-m', 'openapi_python_client', 'generate', '--path', 'openapi.json', '--output-path', 'client', ...options],
    folder,
  )
  const answer = await run(t, python, ['openapi-python-client.py', ...service], folder)
  assert.deepEqual(JSON.parse(answer), expected('Made by Python'))
})

function expected(name: string) {
  return { before: [], name, state: 'stopped', problem: 'not_found', scope: 'admin' }
}

/** A folder with the document as a service answers it, and that service: its address and a token. */
async function workshop(t: TestContext, sources: readonly string[]) {
  const app = await openTestApp(t)
  const url = await app.app.http.listen({ host: '127.0.0.1', port: 0 })
  const headers = { ...(await app.session()), origin: 'http://localhost' }
  const token = await app.call('createToken', { body: { name: 'clients', scope: 'admin' }, headers })
  assert.equal(token.status, 201, token.body)

  const folder = await mkdtemp(join(tmpdir(), 'stackquay-client-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const document = await fetch(`${url}/api/v1/openapi.json`)
  await writeFile(join(folder, 'openapi.json'), await document.text())
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await symlink(modules, join(folder, 'node_modules'))
  for (const name of sources) await cp(join(clientSources, name), join(folder, name))
  return { folder, service: [url, String(token.json.value)] }
}

/** With the compiler of the repository, as strictly as its own sources. */
async function checkTypes(t: TestContext, folder: string): Promise<void> {
  const compilerOptions = {
    target: 'esnext',
    lib: ['esnext', 'dom', 'dom.iterable'],
    module: 'nodenext',
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    typeRoots: [join(root, 'node_modules/@types')],
    types: ['node'],
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', 'client'] }))
  await run(t, process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json'], folder)
}

async function run(t: TestContext, program: string, args: readonly string[], cwd: string): Promise<string> {
  const began = performance.now()
  const result = await promisify(execFile)(program, [...args], { cwd, timeout: 120_000, maxBuffer: 16 << 20 }).catch(
    ({ message, stdout, stderr }) => assert.fail(`${message}\n${stdout}\n${stderr}`),
  )
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  t.diagnostic(`${basename(args.find((arg) => !arg.startsWith('-')) ?? '')}: ${seconds} s`)
  return result.stdout
}
