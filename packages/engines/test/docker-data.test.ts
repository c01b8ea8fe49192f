import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ApplyContext, type Change, type Engine, EngineError } from '@stackquay/engine-api'
import { archiveEntry, archiveOf, hostileArchives, namesIn } from '@stackquay/engine-api/conformance-archives'
import { type DockerHarness, dockerHarness } from './docker-harness.ts'

const PROJECT = 'shop'
const never = new AbortController().signal

describe('kept data of Docker as archives', () => {
  let harness: DockerHarness
  let engine: Engine
  const output: string[] = []
  const context: ApplyContext = {
    signal: never,
    reveal: async () => '',
    output: ({ stream, text }) => void (stream === 'stdout' && output.push(text)),
  }
  before(async () => {
    harness = await dockerHarness(PROJECT)
    engine = await harness.open()
  })
  after(() => harness.close())

  const apply = async (change: Change) => {
    for (const step of engine.plan(change)) await engine.apply(step, context)
  }
  const run = async (project: string, script: string): Promise<string> => {
    const { argv, cwd, container } = harness.shell(script, { data: { main: '/data/main' }, network: project })
    assert.ok(container)
    const job = { name: 'job', title: 'Job', argv, cwd, container, env: {}, timeoutSeconds: 60, inputs: [] }
    output.length = 0
    await apply({ type: 'job', ref: { project, workload: 'jobs' }, job, force: true })
    return output.join('')
  }
  const remove = (project: string) => apply({ type: 'deleteData', project, data: 'main' })

  test('what is read is written again with owners, modes, links and times', async () => {
    await run(
      PROJECT,
      `cd {data:main} && chmod 0750 . && mkdir -p a/b && echo hi > a/f && chmod 0640 a/f && ln a/f a/hard && ln -s f a/soft
      ln -s /etc/passwd out; touch -d '2020-02-03 04:05:06' a/b; head -c 3000000 /dev/urandom > large`,
    )
    const archive = await Array.fromAsync(engine.readData(PROJECT, 'main', never))
    const names = ['./', './a/', './a/b/', './a/f', './a/hard', './a/soft', './large', './out']
    assert.deepEqual(namesIn(Buffer.concat(archive)), names)
    await engine.writeData('shop-2', 'main', from(archive), never)
    const look =
      'cd {data:main} && find . -exec stat -c "%n %u %g %a %F %s %h %Y %N" {} + | sort && sha256sum large a/f'
    const seen = (text: string) => text.replace(/^(\.|\.\/a) (.*) \d+ (\d+) \d+ /gm, '$1 $2 ')
    assert.equal(seen(await run('shop-2', look)), seen(await run(PROJECT, look)))
    await remove('shop-2')
  })

  test('a hostile archive leaves neither a volume nor a container', async () => {
    for (const archive of [
      ...hostileArchives(),
      archiveOf(archiveEntry('./link', '2', '/etc'), archiveEntry('./link/x', '0', 'x')),
    ]) {
      const error = await engine.writeData('shop-3', 'main', from([archive]), never).catch((reason: unknown) => reason)
      assert.ok(error instanceof EngineError && error.code === 'invalid_archive', String(error))
    }
    const { Volumes } = await harness.docker.listVolumes()
    assert.deepEqual(
      (Volumes ?? []).filter(({ Name }) => Name.includes('shop-3')),
      [],
    )
    const containers = await harness.docker.listContainers({ all: true })
    assert.deepEqual(
      containers.filter(({ Names }) => Names.some((name) => name.includes('.copy.'))),
      [],
    )
  })

  test('setuid bits are not restored', async () => {
    await engine.writeData('shop-4', 'main', from([archiveOf(archiveEntry('./tool', '0', 'x'))]), never)
    const archive = Buffer.concat(await Array.fromAsync(engine.readData('shop-4', 'main', never)))
    const at = archive.indexOf('./tool')
    assert.equal(archive.toString('latin1', at + 100, at + 107), '0000777')
    await remove('shop-4')
  })

  test('data whose writing was interrupted is not there, and the next engine clears it away', async () => {
    await engine.writeData('shop-5', 'main', from([archiveOf(archiveEntry('./half', '0', 'x'))]), never)
    const place = join(harness.options.home, 'docker', 'data')
    await mkdir(join(place, 'shop-5'), { recursive: true })
    await writeFile(join(place, 'shop-5', 'main'), '')
    assert.deepEqual(await engine.dataNames('shop-5', never), [])
    await assert.rejects(Array.fromAsync(engine.readData('shop-5', 'main', never)), { code: 'engine_cannot' })
    const next = await harness.open()
    for (let turn = 0; turn < 100; turn += 1) {
      const { Volumes } = await harness.docker.listVolumes()
      if (!(Volumes ?? []).some(({ Name }) => Name.includes('shop-5'))) break
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const { Volumes } = await harness.docker.listVolumes()
    assert.deepEqual(
      (Volumes ?? []).filter(({ Name }) => Name.includes('shop-5')),
      [],
    )
    await next.close()
  })
})

async function* from(chunks: readonly Buffer[]): AsyncGenerator<Buffer, void> {
  yield* chunks
}
