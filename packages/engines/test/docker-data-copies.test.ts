import assert from 'node:assert/strict'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { after, before, describe, test } from 'node:test'
import type { Engine, LiveCopy, Workload } from '@stackquay/engine-api'
import { type DockerHarness, dockerHarness } from './docker-harness.ts'
import { applyAll, contextOf, never, remove, start, workloadOf } from './docker-workloads.ts'

const project = 'shop'

describe('copies of volumes in a helper container', () => {
  let harness: DockerHarness
  let engine: Engine
  let keeper: Workload

  before(async () => {
    harness = await dockerHarness(project)
    engine = await harness.open()
    const container = { data: { main: '/data/main' } }
    keeper = workloadOf(
      project,
      'keeper',
      harness.shell(
        `cd {data:main} && mkdir -p c/log c/tmp && echo hi > c/f && chmod 0640 c/f && ln -s /etc/passwd c/link
        echo x > c/tmp/x; echo p > c/pid; echo 1 > c/log/1; touch ready; exec sleep 600`,
        container,
      ),
      { data: [{ name: 'main' }] },
    )
    await start(engine, keeper)
    await written('test -e ready')
  })
  after(() => harness.close())

  const inside = async (data: string, script: string): Promise<string> => {
    const { argv, cwd, container } = harness.shell(script, { data: { [data]: '/data/main' } })
    assert.ok(container)
    const output: string[] = []
    const job = { name: 'look', title: 'Look', argv, cwd, container, env: {}, timeoutSeconds: 60, inputs: [] }
    const ref = { project, workload: 'jobs' }
    await applyAll(engine, { type: 'job', ref, job, force: true }, contextOf(output))
    return output.join('')
  }
  const written = async (script: string) => {
    for (let turn = 0; turn < 50; turn += 1) {
      const found = await inside('main', `cd {data:main} && ${script}`).catch(() => null)
      if (found !== null) return
    }
    throw new Error(`${script} did not become true`)
  }
  const look = (data: string) =>
    inside(data, `cd {data:${data}} && find . -exec stat -c "%n %u %g %a %F" {} + | sort && cat c/f && readlink c/link`)
  const live = (between: LiveCopy['between']): LiveCopy => ({ leftOut: ['c/pid', 'c/tmp'], later: ['c/log'], between })

  test('while it is used only by who says that it may be', async () => {
    const to = { project, name: 'refused' }
    await assert.rejects(engine.copyData({ project, name: 'main' }, to, {}, never), /in use/)
    const between = async () => {
      await inside('main', 'cd {data:main} && echo 2 > c/log/2 && rm c/log/1')
      return { 'c/label': `two lines\n'quoted' $HOME` }
    }
    const to2 = { project, name: 'first' }
    const copied = await engine.copyData({ project, name: 'main' }, to2, { live: live(between) }, never)
    assert.equal(copied.method, await engine.copyMethod(project, never))
    const [room, disk] = [await engine.freeBytes(project, never), await statfs(tmpdir())]
    assert.ok(
      room !== null && Math.abs(room - disk.bavail * disk.bsize) < 5 * 1024 ** 3,
      `${room} bytes, from a volume`,
    )
    const seen = await look('first')
    assert.match(seen, /^\.\/c\/f 48211 48211 640 regular file$/m)
    assert.match(seen, /^hi\n\/etc\/passwd$/m)
    assert.match(seen, /\.\/c\/log\/2 /)
    assert.doesNotMatch(seen, /c\/log\/1|c\/pid|c\/tmp\/x|stackquay-probe/)
    assert.equal(await inside('first', 'cat {data:first}/c/label'), `two lines\n'quoted' $HOME`)
    assert.deepEqual(await engine.dataNames(project, never), ['first', 'main'])
  })

  test('a copy that is given up or fails leaves neither a volume nor a container', async () => {
    const abort = new AbortController()
    for (const between of [
      async () => {
        throw new Error('It went away.')
      },
      async () => {
        abort.abort()
        return {}
      },
    ]) {
      const to = { project, name: 'second' }
      await assert.rejects(engine.copyData({ project, name: 'main' }, to, { live: live(between) }, abort.signal))
      assert.deepEqual(await engine.dataNames(project, never), ['first', 'main'])
    }
  })

  test('the copy of a copy needs no container that uses it', async () => {
    await remove(engine, keeper)
    const { bytes } = await engine.copyData({ project, name: 'first' }, { project, name: 'third' }, {}, never)
    assert.ok(bytes > 0)
    assert.equal(await look('third'), await look('first'))
    for (const data of ['first', 'third', 'main']) await applyAll(engine, { type: 'deleteData', project, data })
  })
})
