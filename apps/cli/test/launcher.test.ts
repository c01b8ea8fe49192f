import assert from 'node:assert/strict'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { version } from '../src/version.ts'
import { scratch, stq, stqFile } from './run-stq.ts'

test('stq runs through a link in PATH', async () => {
  await using folder = await scratch()
  await symlink(stqFile, join(folder.path, 'stq'))
  const { code, stdout } = await stq(['--version'], { command: [join(folder.path, 'stq')] })
  assert.deepEqual([code, stdout], [0, `${version}\n`])
})

/** Makes the launcher believe that it runs on Node 18; the Node it starts is not touched. */
const pretendOld = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.0.0' } })`

test('on an old Node it runs with the one it is given, and passes on exit code and input', async () => {
  await using folder = await scratch()
  const preload = join(folder.path, 'old.cjs')
  await writeFile(preload, pretendOld)
  const command = [process.execPath, '--require', preload, stqFile] as const
  const env = { STACKQUAY_NODE: process.execPath, XDG_CONFIG_HOME: folder.path }
  const version_ = await stq(['--version'], { command: [...command], env })
  assert.deepEqual([version_.code, version_.stdout], [0, `${version}\n`], version_.stderr)
  const usage = await stq(['nonsense'], { command: [...command], env })
  assert.equal(usage.code, 2)
  const empty = await stq(['login'], { command: [...command], env, input: '' })
  assert.equal(empty.code, 2)
  assert.match(empty.stderr, /There is no token/)
})

test('where no Node is fit it says so, and how to get one', async () => {
  await using folder = await scratch()
  const preload = join(folder.path, 'old.cjs')
  const missing = `${pretendOld}; const fs = require('node:fs'); const there = fs.existsSync; fs.existsSync = (p) => !String(p).endsWith('node') && there(p)`
  await writeFile(preload, missing)
  const { code, stderr } = await stq(['list'], { command: [process.execPath, '--require', preload, stqFile] })
  assert.equal(code, 1)
  assert.match(stderr, /stq needs Node 24 or newer; this is v.*\n.*npm install/)
})

test('what every call loads is small: no command, no YAML, no schemas', async () => {
  const files = new Set<string>()
  const packages = new Set<string>()
  const visit = async (file: URL): Promise<void> => {
    if (files.has(file.pathname)) return
    files.add(file.pathname)
    const source = await readFile(file, 'utf8')
    for (const [, from] of source.matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)'/gms)) {
      if (from!.endsWith('.ts')) await visit(new URL(from!, file))
      else if (!from!.startsWith('.')) packages.add(from!)
    }
  }
  await visit(new URL('../src/main.ts', import.meta.url))
  assert.deepEqual(
    [...files].filter((file) => file.includes('/commands/') && !file.endsWith('/commands/index.ts')),
    [],
  )
  assert.deepEqual([...packages].sort(), [
    '@stackquay/client',
    'commander',
    'node:fs/promises',
    'node:os',
    'node:path',
    'picocolors',
  ])
})
