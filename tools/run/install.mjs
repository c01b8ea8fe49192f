import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withLock } from './lock.mjs'
import { modules, node, root } from './places.mjs'
import { Refusal } from './refusal.mjs'

const requiredNode = 26
const stampFile = join(modules, '.stackquay-installed')

/**
 * Makes node_modules fit package-lock.json and this machine. Costs two small file reads when there is nothing to do.
 * A tree that somebody installed with npm by hand and that fits is taken as it is.
 */
export async function ensureInstalled() {
  const wanted = fingerprint()
  if (readText(stampFile) === wanted && existsSync(node)) return
  await withLock('install', () => {
    if (readText(stampFile) === wanted && existsSync(node)) return
    if (!(treeFits() && nodeMajor() >= requiredNode)) install()
    writeFileSync(stampFile, wanted)
  })
}

/** A tree made on another system carries the wrong binaries, so the platform is part of it. */
function fingerprint() {
  const lock = readFileSync(join(root, 'package-lock.json'))
  return `${createHash('sha256').update(lock).digest('hex')} ${process.platform}-${process.arch}\n`
}

/** npm keeps what it installed in node_modules/.package-lock.json: compare that with what is wanted. */
function treeFits() {
  const installed = readJson(join(modules, '.package-lock.json'))?.packages
  const wanted = readJson(join(root, 'package-lock.json'))?.packages
  if (installed === undefined || wanted === undefined) return false
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true
    const found = installed[path]
    if (found === undefined) return entry.optional === true || entry.peer === true
    return found.version === entry.version && existsSync(join(root, path))
  })
}

function install() {
  console.error('Installing dependencies (first start, about 30 s) …')
  // Not `npm ci`: it deletes node_modules first, below programs that run from it, and refuses a lock file that lacks optional
  // packages of other systems. This takes the same versions and checks the same hashes; the lock file is not written.
  npm(['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'])
  if (nodeMajor() < requiredNode) runAllowedScripts()
  const major = nodeMajor()
  if (major >= requiredNode) return
  throw new Refusal(
    `The dependencies are installed, but ${major === 0 ? 'the Node program is missing from' : `there is Node ${major} in`} ` +
      `node_modules; Stackquay needs Node ${requiredNode}.\n` +
      'Run "npm rebuild node --ignore-scripts=false" in this folder and read what it prints.',
  )
}

/** A machine may forbid install scripts (`ignore-scripts=true`). Those of the packages in `allowScripts` are needed. */
function runAllowedScripts() {
  const allowed = Object.entries(readJson(join(root, 'package.json')).allowScripts ?? {})
    .filter(([name, yes]) => yes === true && existsSync(join(modules, name)))
    .map(([name]) => name)
  console.error(`Running the install scripts of ${allowed.join(', ')} …`)
  npm(['rebuild', ...allowed, '--ignore-scripts=false', '--loglevel=error'])
}

function npm(args) {
  // npm's own program when we run below npm: works whatever PATH says. Output goes to stderr: stdout belongs to the command.
  const below = process.env.npm_execpath
  const [program, first] = below?.endsWith('.js') ? [process.execPath, [below]] : ['npm', []]
  const result = spawnSync(program, [...first, ...args], { cwd: root, stdio: ['ignore', 2, 2] })
  if (result.error?.code === 'ENOENT') {
    throw new Refusal('npm was not found. Install Node.js with npm (Debian: "apt-get install -y npm"), then try again.')
  }
  if (result.error !== undefined) throw result.error
  if (result.status !== 0) {
    throw new Refusal(
      `"npm ${args[0]}" failed (exit code ${result.status ?? result.signal}); its message is above.\n` +
        'Without a network the dependencies cannot be installed. With one, check the proxy and registry settings of npm ("npm config list").',
    )
  }
}

/** 0 when there is none that runs here. */
function nodeMajor() {
  try {
    const version = execFileSync(node, ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 30_000,
    })
    return Number(/^v(\d+)/.exec(version)?.[1] ?? 0)
  } catch {
    return 0
  }
}

function readText(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
