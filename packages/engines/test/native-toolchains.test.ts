import assert from 'node:assert/strict'
import { chmod, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Engine, ToolchainQuery } from '@stackquay/engine-api'
import { createNativeEngine } from '../src/native/index.ts'
import { type NativeHarness, nativeHarness } from './native-harness.ts'

describe('toolchains of the native engine', () => {
  let harness: NativeHarness
  let engine: Engine
  let places: string
  const signal = new AbortController().signal
  before(async () => {
    harness = await nativeHarness()
    engine = await harness.open()
    places = join(harness.directory, 'places')
    await program('1.2/bin/tool', 'echo run >> "$0.count"; echo "tool version 1.2.3"')
    await program('2.0/bin/tool', 'echo "tool version 2.0.0" >&2')
    await program('twin/bin/tool', 'echo "tool version 2.0.0"')
    await program('broken/bin/tool', 'echo "no license" >&2; exit 3')
    await mkdir(join(places, 'link', 'bin'), { recursive: true })
    await symlink(join(places, '1.2/bin/tool'), join(places, 'link/bin/tool'))
  })
  after(() => harness.close())

  async function program(path: string, script: string): Promise<void> {
    const file = join(places, path)
    await mkdir(join(file, '..'), { recursive: true })
    await writeFile(file, `#!/bin/sh\n${script}\n`)
    await chmod(file, 0o755)
    await chmod(join(file, '..'), 0o777)
  }
  const query = (name = 'tool'): ToolchainQuery => ({
    name,
    programs: [`no-such-program-${name}`],
    places: [join(places, `*/bin/${name}`)],
    versionArgs: ['--version'],
    versionPattern: 'version (\\d+\\.\\d+\\.\\d+)',
  })

  test('each program is started once, also across instances, and each version is answered once', async () => {
    const found = await engine.toolchains([query()], signal)
    assert.deepEqual(
      found.filter((one) => one.available).map((one) => [one.version, one.program, one.bundled]),
      [
        ['1.2.3', join(places, '1.2/bin/tool'), false],
        ['2.0.0', join(places, '2.0/bin/tool'), false],
      ],
    )
    const second = await harness.open()
    assert.deepEqual(await second.toolchains([query()], signal), found)
    assert.equal(await readFile(join(places, '1.2/bin/tool.count'), 'utf8'), 'run\n')
    await program('1.2/bin/tool', 'echo "tool version 1.2.40"')
    assert.equal((await second.toolchains([query()], signal))[0]?.version, '1.2.40')
  })

  test('a program without a readable version is answered with its output', async () => {
    const broken = (await engine.toolchains([query()], signal)).find((one) => !one.available)
    assert.match(broken?.reason ?? '', /broken\/bin\/tool did not print its version \(exit code 3: no license\)/)
  })

  test('a program in a directory that the workload user cannot enter says so', async () => {
    if (!harness.hasUsers) return
    await program('closed/bin/hidden', 'echo "hidden version 1.0.0"')
    await chmod(join(places, 'closed'), 0o700)
    const [found] = await engine.toolchains([query('hidden')], signal)
    assert.equal(found?.available, false)
    assert.match(
      found.reason ?? '',
      /hidden is under .*\/closed, which the project’s user \(uid \d+\) cannot enter\. Install it for all users/,
    )
  })

  test('a bundled program out of reach is brought into reach once', async () => {
    if (!harness.hasUsers) return
    const shipped = join(places, 'shipped')
    await program('shipped/bin/packed', '. "$(dirname "$0")/../lib/version"; echo "packed version $VERSION"')
    await mkdir(join(shipped, 'lib'))
    await writeFile(join(shipped, 'lib', 'version-1'), 'VERSION=18.4.0\n', { mode: 0o600 })
    await symlink('version-1', join(shipped, 'lib', 'version'))
    await chmod(shipped, 0o700)
    const bundled = [{ name: 'packed', version: '18.4.0', program: join(shipped, 'bin/packed'), directory: shipped }]
    const engines = await Promise.all([1, 2].map(() => createNativeEngine({ ...harness.options, bundled })))
    const target = join(harness.options.home, 'toolchains/packed-18.4.0/bin/packed')
    for (const found of await Promise.all(engines.map((one) => one.toolchains([query('packed')], signal)))) {
      assert.deepEqual(
        found.map((one) => [one.version, one.program, one.available, one.bundled]),
        [['18.4.0', target, true, true]],
      )
    }
    assert.equal(
      (await stat(join(shipped, 'lib', 'version-1'))).mode & 0o777,
      0o600,
      'the original keeps its permissions',
    )
    await rename(shipped, `${shipped}-gone`)
    await stat(target)
    await rm(`${shipped}-gone`, { recursive: true })
    await Promise.all(engines.map((one) => one.close()))
  })

  test('a program that hangs is given up', async () => {
    await program('slow/bin/sleepy', 'sleep 600')
    const began = performance.now()
    const aborted = engine.toolchains([query('sleepy')], AbortSignal.timeout(200))
    await assert.rejects(aborted, { code: 'aborted' })
    assert.ok(performance.now() - began < 3000)
  })
})
