import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { programFile } from '@stackquay/catalog/folders'
import { createOurPrograms } from '../src/catalogue/our-programs.ts'

// What the service does for itself: workloads of root run as somebody else.
const uid =
  process.getuid?.() === 0 ? Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout) : undefined

let folder: string

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'stackquay-programs-'))
  chmodSync(folder, 0o755)
})

after(() => rmSync(folder, { recursive: true, force: true }))

describe('Programs of ours', () => {
  test('are copied with the modules beside them, and start for a user who can read nothing else of ours', () => {
    const file = createOurPrograms(join(folder, 'plain')).file('static-server')
    const { status, stderr } = run(file, [])
    assert.equal(status, 2, stderr)
    assert.match(stderr, /Usage: static-server/)
  })

  test('find their packages beside them: the real mail catcher serves as the unprivileged user, whatever the umask was', async () => {
    const before = process.umask(0o077)
    const home = join(folder, 'mail')
    mkdirSync(home)
    chmodSync(home, 0o711)
    let file: string
    try {
      file = createOurPrograms(home).file('mail-catcher')
    } finally {
      process.umask(before)
    }
    for (const name of ['smtp-server', 'mailparser', 'nodemailer', 'libmime']) {
      assert.ok(existsSync(join(dirname(file), 'node_modules', name, 'package.json')), name)
    }
    everyoneMayRead(dirname(file))
    const data = join(folder, 'mail-data')
    mkdirSync(data)
    chmodSync(data, 0o777)
    const [smtp, web] = [await freePort(), await freePort()]
    const child = spawn(
      process.execPath,
      [file, '--data', data, '--smtp-port', String(smtp), '--web-port', String(web)],
      { ...asUser(), stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const ended = once(child, 'close')
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    try {
      const deadline = Date.now() + 30_000
      let healthy = false
      while (!healthy && Date.now() < deadline && child.exitCode === null) {
        healthy = await fetch(`http://127.0.0.1:${web}/-/health`).then(
          ({ status }) => status === 200,
          () => false,
        )
        if (!healthy) await new Promise((resolve) => setTimeout(resolve, 50))
      }
      assert.ok(healthy, output)
    } finally {
      child.kill('SIGTERM')
      await ended
    }
  })

  test('that are there already are neither copied nor touched again', () => {
    const home = join(folder, 'again')
    const first = createOurPrograms(home).file('mail-catcher')
    writeFileSync(join(dirname(first), 'mark'), '')
    const begun = Date.now()
    assert.equal(createOurPrograms(home).file('mail-catcher'), first)
    assert.ok(Date.now() - begun < 2_000)
    assert.ok(existsSync(join(dirname(first), 'mark')))
    assert.equal(readdirSync(join(home, 'toolchains', 'programs')).length, 1)
  })

  test('leave nothing half made where a copy was interrupted', () => {
    const home = join(folder, 'torn')
    const programs = join(home, 'toolchains', 'programs')
    const first = createOurPrograms(home).file('mail-catcher')
    rmSync(dirname(first), { recursive: true })
    // What a killed process of the same id left.
    mkdirSync(`${dirname(first)}.${process.pid}/node_modules/smtp-server`, { recursive: true })
    writeFileSync(`${dirname(first)}.${process.pid}/stray.ts`, '')
    const again = createOurPrograms(home).file('mail-catcher')
    assert.equal(again, first)
    assert.equal(existsSync(join(dirname(again), 'stray.ts')), false)
    assert.equal(readdirSync(programs).length, 1)
  })
})

describe('Packages of a program', () => {
  test('are found in the version that each of them finds where it is installed', () => {
    const source = join(folder, 'source')
    install(source, 'outer', '1.0.0', { shared: '*', deep: '*' })
    install(source, 'shared', '1.0.0', {})
    install(source, 'deep', '1.0.0', { shared: '*', outer: '*' })
    install(join(source, 'node_modules/deep'), 'shared', '2.0.0', { leaf: '*' })
    install(join(source, 'node_modules/deep'), 'leaf', '7.0.0', {})
    install(source, 'leaf', '8.0.0', {})
    install(source, 'unasked', '1.0.0', {})
    const program = join(source, 'apps', 'one', 'program.ts')
    mkdirSync(dirname(program), { recursive: true })
    // A package of the nearest folder goes before one further up, and what it needs may stand further up still.
    install(dirname(program), '@scope/near', '3.0.0', { leaf: '*', shared: '*' })
    writeFileSync(
      program,
      `import outer from 'outer'
import near from '@scope/near'
console.log(JSON.stringify({ outer, near }))
`,
    )
    const ours = createOurPrograms(join(folder, 'nested'), {
      file: () => program,
      packages: () => ['outer', '@scope/near'],
    })
    const file = ours.file('one')
    const { stdout, stderr } = run(file, [])
    assert.equal(
      stdout.trim(),
      JSON.stringify({
        outer: 'outer@1.0.0(shared@1.0.0() deep@1.0.0(shared@2.0.0(leaf@7.0.0()) outer@1.0.0))',
        near: '@scope/near@3.0.0(leaf@8.0.0() shared@1.0.0())',
      }),
      stderr,
    )
    assert.equal(existsSync(join(dirname(file), 'node_modules', 'unasked')), false)
    everyoneMayRead(dirname(file))
  })

  test('in another version make another folder', () => {
    const source = join(folder, 'versions')
    const program = join(source, 'program.ts')
    install(source, 'pack', '1.0.0', {})
    writeFileSync(program, `import pack from 'pack'\nconsole.log(pack)\n`)
    const bring = () =>
      createOurPrograms(join(folder, 'versions-home'), { file: () => program, packages: () => ['pack'] }).file('one')
    const first = bring()
    install(source, 'pack', '1.0.1', {})
    const second = bring()
    assert.notEqual(dirname(first), dirname(second))
    assert.equal(run(first, []).stdout.trim(), 'pack@1.0.0()')
    assert.equal(run(second, []).stdout.trim(), 'pack@1.0.1()')
  })

  test('that are missing are named, with what to do, and nothing is left behind', () => {
    const source = join(folder, 'missing')
    const program = join(source, 'program.ts')
    install(source, 'there', '1.0.0', { 'not-there': '*' })
    writeFileSync(program, '')
    const home = join(folder, 'missing-home')
    const ours = createOurPrograms(home, { file: () => program, packages: (name) => [name] })
    assert.throws(
      () => ours.file('gone'),
      /^Error: The program "gone" needs the package "gone", which is not installed\. Run "npm ci"/,
    )
    assert.throws(() => ours.file('there'), /needs the package "not-there", which is not installed\. Run "npm ci"/)
    assert.equal(existsSync(join(home, 'toolchains')), false)
  })

  test('of the catalogue are all installed, and dependencies of it', () => {
    const manifest = JSON.parse(
      readFileSync(join(dirname(programFile('static-server')), '../../../package.json'), 'utf8'),
    ) as { dependencies: Record<string, string> }
    for (const name of ['smtp-server', 'mailparser']) assert.ok(name in manifest.dependencies, name)
  })
})

/** A package that says its version, and those of what it finds. A circle is told by its name alone. */
function install(folder: string, name: string, version: string, dependencies: Readonly<Record<string, string>>): void {
  const path = join(folder, 'node_modules', name)
  // As package managers do: a new file, never another content in the old one.
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'package.json'), JSON.stringify({ name, version, dependencies, main: 'index.js' }))
  const found = Object.keys(dependencies).map((dependency) => `told(require('${dependency}'), '${dependency}')`)
  writeFileSync(
    join(path, 'index.js'),
    `const told = (text, name) => typeof text === 'string' ? text : name + '@' + require(name + '/package.json').version
module.exports = '${name}@${version}(' + [${found.join(', ')}].join(' ') + ')'
`,
  )
}

function run(file: string, args: readonly string[]) {
  return spawnSync(process.execPath, [file, ...args], { ...asUser(), encoding: 'utf8', timeout: 30_000 })
}

function asUser() {
  return { cwd: '/', env: { PATH: '/usr/bin:/bin' }, ...(uid === undefined ? {} : { uid, gid: uid }) }
}

function everyoneMayRead(path: string): void {
  for (const entry of readdirSync(path, { recursive: true, withFileTypes: true })) {
    const { mode } = statSync(join(entry.parentPath, entry.name))
    const wanted = entry.isDirectory() ? 0o755 : 0o644
    assert.equal(mode & 0o777, wanted, join(entry.parentPath, entry.name))
  }
  assert.equal(statSync(path).mode & 0o777, 0o755)
}

/** Below the ports that systems give to outgoing connections: one of those may be taken before it is used again. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 11_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
