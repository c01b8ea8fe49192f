import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withLock } from './lock.mjs'
import { modules, root } from './places.mjs'
import { Refusal } from './refusal.mjs'
import { python } from './system-packages.mjs'

/** Names, versions and hashes of the generators, and a short program for the client of each. */
export const clientSources = join(root, 'tools/clients')
/** Where they are installed: below are `node_modules` and `python`. */
export const clientGenerators = join(modules, '.cache', 'client-generators')

const test = 'tools/test/generated-clients'

/**
 * Generators are no dependencies of the service, and one of them needs another TypeScript than the repository: they are
 * installed beside, once, when the test that runs them is to run.
 */
export async function ensureClientGenerators(files) {
  if (!files.some((file) => file.startsWith(test))) return
  const wanted = fingerprint()
  if (installed() === wanted) return
  await withLock('client-generators', () => {
    if (installed() === wanted) return
    console.error('Installing generators of clients for their test (once, about a minute) …')
    rmSync(clientGenerators, { recursive: true, force: true })
    mkdirSync(clientGenerators, { recursive: true })
    for (const name of ['package.json', 'package-lock.json', 'requirements.txt'])
      cpSync(join(clientSources, name), join(clientGenerators, name))
    installNode()
    installPython()
    writeFileSync(stamp(), wanted)
  })
}

function installNode() {
  const below = process.env.npm_execpath
  const [program, first] = below?.endsWith('.js') ? [process.execPath, [below]] : ['npm', []]
  must(program, [...first, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
}

function installPython() {
  const venv = join(clientGenerators, 'python')
  must(python(), ['-m', 'venv', venv])
  const options = ['--disable-pip-version-check', '--no-input', '--quiet', '--only-binary=:all:']
  must(join(venv, 'bin', 'python'), ['-m', 'pip', 'install', ...options, '-r', 'requirements.txt'])
}

function must(program, args) {
  const { status, stderr, error } = spawnSync(program, args, {
    cwd: clientGenerators,
    encoding: 'utf8',
    timeout: 10 * 60_000,
  })
  if (status === 0) return
  const tail = (error?.message ?? stderr).trimEnd().split('\n').slice(-10).join('\n')
  throw new Refusal(`The client generators cannot be installed: "${program} ${args.join(' ')}" failed.\n${tail}`)
}

function fingerprint() {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`)
  for (const name of ['package-lock.json', 'requirements.txt']) hash.update(readFileSync(join(clientSources, name)))
  return hash.digest('hex')
}

function installed() {
  return existsSync(stamp()) ? readFileSync(stamp(), 'utf8') : undefined
}

function stamp() {
  return join(clientGenerators, 'installed')
}
