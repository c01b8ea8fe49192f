import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isAlive, spawnTracked, waitFor } from '@stackquay/testkit'
import { read, root } from '../repository.ts'

const wrapper = join(root, 'tools/run.mjs')
const withoutExecve = 'data:text/javascript,process.execve=undefined'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stackquay-tools-'))
})
after(() => rm(folder, { recursive: true, force: true }))

test('an unknown command is refused with the commands there are', async () => {
  const { code, stderr } = await run([wrapper, 'strat'])
  assert.equal(code, 2)
  assert.match(
    stderr,
    /^Unknown command "strat"\. Known: start, dev, test, build, check, bench, fuzz, soak, rescue, stq\.\n$/,
  )
})

test('words that match no test file are refused before anything is installed or built', async () => {
  const { code, stderr } = await run([wrapper, 'test', 'no-such-test'])
  assert.equal(code, 1)
  assert.equal(stderr, 'No test file matches "no-such-test".\n')
})

test('the report of a test run names the files that failed, also one that crashed, and counts what passed', async () => {
  const files = {
    'good.test.mjs': `import { test } from 'node:test'; test('one', () => {}); test('later', { todo: true }, () => { throw new Error('not yet') })`,
    'bad.test.mjs': `import { test } from 'node:test'; test('two', () => {}); test('three', () => { throw new Error('no') })`,
    'crashed.test.mjs': 'process.exit(3)',
    'shared.mjs': `import { test } from 'node:test'; export const suite = () => test('four', () => { throw new Error('no') })`,
    'sharing.test.mjs': `import { suite } from './shared.mjs'; suite()`,
  }
  const names = Object.keys(files)
  const paths = names.filter((name) => name.includes('.test.')).map((name) => join(folder, name))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const reporter = join(root, 'tools/run/failed-files.mjs')
  const { NODE_TEST_CONTEXT: _own, ...env } = process.env
  const { code, stdout } = await run(['--test', `--test-reporter=${reporter}`, ...paths], env)
  assert.equal(code, 1)
  const { passed, failed } = JSON.parse(stdout) as { passed: number; failed: Record<string, string[]> }
  const [bad, crashed, sharing] = ['bad.test.mjs', 'crashed.test.mjs', 'sharing.test.mjs'].map((name) =>
    join(folder, name),
  )
  assert.deepEqual(failed, { [bad!]: ['three'], [crashed!]: [crashed], [sharing!]: ['four'] })
  assert.equal(passed, 2)
})

test('a test of kills, crashes or random inputs is known by its title or by what its file takes', async () => {
  const { isCrashTest } = (await import(pathToFileURL(join(root, 'tools/run/crash-tests.mjs')).href)) as {
    isCrashTest(title: string, source: string): boolean
  }
  const plain = "import { test } from 'node:test'"
  for (const title of ['a kill at 50 random moments', 'killed while it starts a command', '/repo/e2e/kill.test.ts'])
    assert.ok(isCrashTest(title, plain), title)
  assert.ok(isCrashTest('in any order', `${plain}\nimport { randomFrom } from '@stackquay/testkit/random'`))
  assert.ok(isCrashTest('in any order', `${plain}\nimport { rounds } from '@stackquay/testkit/rounds'`))
  assert.ok(!isCrashTest('skills and crashpads are listed', plain))
  for (const file of [
    'e2e/kill.test.ts',
    'apps/server/test/interleavings.test.ts',
    'apps/server/test/patch-property.test.ts',
  ])
    assert.ok(isCrashTest('', read(file)), file)
})

test('every test file is in one phase, the longest first; what needs quiet is there, and Docker comes last', async () => {
  const { phasesOf, quiet } = (await import(pathToFileURL(join(root, 'tools/run/schedule.mjs')).href)) as {
    phasesOf(files: readonly string[], cores: number): { name: string; concurrency: number; files: string[] }[]
    quiet: readonly string[]
  }
  const { allTestFiles } = (await import(pathToFileURL(join(root, 'tools/run/test-files.mjs')).href)) as {
    allTestFiles(): string[]
  }
  const files = allTestFiles()
  const phases = phasesOf(files, 2)
  assert.deepEqual(
    phases.map(({ name }) => name),
    ['most', 'quiet', 'docker'],
  )
  assert.deepEqual(phases.flatMap((phase) => phase.files).sort(), [...files].sort())
  assert.deepEqual(
    phases[1]!.files.filter((file) => !quiet.some((start) => file.startsWith(start))),
    [],
  )
  for (const start of quiet)
    assert.ok(
      phases[1]!.files.some((file) => file.startsWith(start)),
      start,
    )
  const seconds = JSON.parse(read('tools/run/test-seconds.json')) as Record<string, number>
  for (const phase of phases) {
    const known = phase.files.map((file) => seconds[file]).filter((value) => value !== undefined)
    assert.deepEqual(
      known,
      [...known].sort((a, b) => b - a),
    )
  }
})

test('every script of package.json is a command of the wrapper', async () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const [name, line] of Object.entries(scripts)) assert.equal(line, `node tools/run.mjs ${name}`)
  assert.ok(read('.ci/run').trimEnd().endsWith('npm test'))
})

for (const [where, options] of [
  ['by replacing its process', []],
  ['through a child where the system cannot', ['--import', withoutExecve]],
] as const) {
  test(`the wrapper hands over arguments, exit code and signals ${where}`, async () => {
    const program = join(folder, 'program.mjs')
    await writeFile(
      program,
      `console.log(JSON.stringify({ args: process.argv.slice(2), pid: process.pid, cache: process.env.NODE_COMPILE_CACHE !== undefined }))
       if (process.argv[2] === 'wait') { process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log('ready') }
       else process.exit(5)`,
    )
    const starter = join(folder, 'starter.mjs')
    await writeFile(
      starter,
      `import { become } from ${JSON.stringify(pathToFileURL(join(root, 'tools/run/become.mjs')).href)}
       await become([${JSON.stringify(program)}, ...process.argv.slice(2)])`,
    )
    const ended = await run([...options, starter, 'a b', '--x="$HOME"'])
    assert.equal(ended.code, 5)
    const said = JSON.parse(ended.stdout) as { args: string[]; cache: boolean }
    assert.deepEqual(said.args, ['a b', '--x="$HOME"'])
    assert.ok(said.cache)

    await using waiting = spawnTracked([process.execPath, ...options, starter, 'wait'])
    const { pid } = JSON.parse((await waiting.line(/^\{.*\}$/m))[0]) as { pid: number }
    await waiting.line(/ready/)
    assert.equal(pid === waiting.pid, options.length === 0)
    process.kill(waiting.pid, 'SIGTERM')
    assert.deepEqual(await waiting.exit(), { code: 7, signal: null })
    await waitFor('the end of the program', async () => !(await isAlive(pid)))
  })
}

test('what runs under a lock never overlaps, and a lock left by a dead process is taken over', async () => {
  const name = `test-${process.pid}`
  const lockFile = join(root, '.cache', `${name}.lock`)
  const trace = join(folder, 'trace')
  const script = join(folder, 'locker.mjs')
  await writeFile(
    script,
    `import { appendFileSync } from 'node:fs'
     import { setTimeout as sleep } from 'node:timers/promises'
     import { withLock } from ${JSON.stringify(pathToFileURL(join(root, 'tools/run/lock.mjs')).href)}
     await withLock(${JSON.stringify(name)}, async () => {
       appendFileSync(${JSON.stringify(trace)}, 'in\\n')
       await sleep(100)
       appendFileSync(${JSON.stringify(trace)}, 'out\\n')
     })`,
  )
  const gone = spawnTracked([process.execPath, '-e', ''])
  await gone.exit()
  await writeFile(lockFile, String(gone.pid))
  const ends = await Promise.all(Array.from({ length: 4 }, () => run([script])))
  assert.deepEqual(
    ends.map(({ code }) => code),
    [0, 0, 0, 0],
  )
  assert.equal(await readFile(trace, 'utf8'), 'in\nout\n'.repeat(4))
  assert.ok(!existsSync(lockFile))
})

test('what is built is built once, by one of several, and again when a source changed, came or went', async () => {
  const [source, stampFile, trace] = ['sources', 'stamp', 'builds'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const script = join(folder, 'builder.mjs')
  await mkdir(source)
  await writeFile(join(source, 'a'), 'one')
  await writeFile(
    script,
    `import { appendFileSync, writeFileSync } from 'node:fs'
     import { ensureBuilt } from ${JSON.stringify(pathToFileURL(join(root, 'tools/run/built.mjs')).href)}
     const what = { name: 'test-built-${process.pid}', stampFile: ${JSON.stringify(stampFile)}, sources: [${JSON.stringify(relative(root, source))}] }
     await ensureBuilt(what, (stamp) => {
       appendFileSync(${JSON.stringify(trace)}, '.')
       writeFileSync(${JSON.stringify(stampFile)}, stamp)
     })`,
  )
  const builds = async () => {
    assert.deepEqual(
      (await Promise.all([run([script]), run([script])])).map(({ code }) => code),
      [0, 0],
    )
    return (await readFile(trace, 'utf8')).length
  }
  assert.equal(await builds(), 1)
  assert.equal(await builds(), 1)
  await writeFile(join(source, 'a'), 'other')
  assert.equal(await builds(), 2)
  await writeFile(join(source, 'b'), '')
  assert.equal(await builds(), 3)
  await rm(join(source, 'a'))
  assert.equal(await builds(), 4)
})

test('the service that is built finds what its sources find beside themselves', async () => {
  const { ensureService, serviceProgram } = (await import(pathToFileURL(join(root, 'tools/run/service.mjs')).href)) as {
    ensureService(): Promise<void>
    serviceProgram: string
  }
  await ensureService()
  const [, name] = /^import '\.\/([0-9a-f]{12})\/main\.js'\n$/.exec(await readFile(serviceProgram, 'utf8')) ?? []
  const built = join(dirname(serviceProgram), name!)
  const beside: string[] = []
  for (const file of await readdir(built)) {
    const text = await readFile(join(built, file), 'utf8')
    for (const [, source, from] of text.matchAll(
      /new URL\("([^"]+)", new URL\("([^"]+)", import\.meta\.url\)\.href\)/g,
    ))
      beside.push(fileURLToPath(new URL(source!, new URL(from!, pathToFileURL(join(built, file))))))
  }
  assert.ok(beside.length >= 8, `${beside.length} files`)
  const missing = beside.filter((path) => !existsSync(path) && !path.endsWith('apps/web/dist'))
  assert.deepEqual(missing, [])
})

test('an interrupted holder leaves no lock behind', async () => {
  const name = `test-interrupted-${process.pid}`
  const script = join(folder, 'interrupted.mjs')
  await writeFile(
    script,
    `import { withLock } from ${JSON.stringify(pathToFileURL(join(root, 'tools/run/lock.mjs')).href)}
     await withLock(${JSON.stringify(name)}, () => new Promise(() => { setInterval(() => {}, 1000); console.log('held') }))`,
  )
  await using holder = spawnTracked([process.execPath, script])
  await holder.line(/held/)
  process.kill(holder.pid, 'SIGINT')
  assert.equal((await holder.exit()).code, 130)
  assert.ok(!existsSync(join(root, '.cache', `${name}.lock`)))
})

function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, env, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })
    })
  })
}
