import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { become } from './become.mjs'
import { withLock } from './lock.mjs'
import { ensurePage } from './page.mjs'
import { modules, root } from './places.mjs'
import { Refusal } from './refusal.mjs'
import { ensureSystemPackages, python } from './system-packages.mjs'

/** https://schemathesis.readthedocs.io; changing the version is a deliberate act, as it changes what is tried. */
const wanted = 'schemathesis==4.32.5'
const venv = join(modules, '.cache', 'fuzz')

/** `npm run fuzz`: the whole API against a fuzzer that reads its description. `-- --quick` for less than two minutes. */
export async function run(args) {
  await ensureSystemPackages(['tools/fuzz/main.ts'])
  await ensureFuzzer()
  await ensurePage()
  await become([join(root, 'tools/fuzz/main.ts'), join(venv, 'bin', 'st'), ...args])
}

/** In an environment of its own, so that nothing of the machine's Python is touched; installed when it is not there. */
async function ensureFuzzer() {
  if (installed()) return
  await withLock('fuzz', () => {
    if (installed()) return
    console.error(`Installing ${wanted} …`)
    rmSync(venv, { recursive: true, force: true })
    must(python(), ['-m', 'venv', venv])
    must(join(venv, 'bin', 'python'), [
      '-m',
      'pip',
      'install',
      '--disable-pip-version-check',
      '--no-input',
      '--quiet',
      wanted,
    ])
    writeFileSync(stamp(), wanted)
  })
}

function installed() {
  return existsSync(stamp()) && readFileSync(stamp(), 'utf8') === wanted
}

function stamp() {
  return join(venv, 'installed')
}

function must(program, args) {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8', timeout: 10 * 60_000 })
  if (status === 0) return
  const tail = (error?.message ?? stderr).trimEnd().split('\n').slice(-10).join('\n')
  throw new Refusal(`The fuzzer cannot be installed: "${program} ${args.join(' ')}" failed.\n${tail}`)
}
