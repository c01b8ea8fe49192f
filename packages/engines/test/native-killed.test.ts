import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { converse } from '@stackquay/engine-api/conformance-conversation'
import { nativeHarness } from './native-harness.ts'

/** More by hand: `KILLS=200 node --test <this file>`. */
const KILLS = Number(process.env.KILLS ?? 8)

test('a control plane killed at any moment of start, stop and remove leaves something that one more start and remove puts right', async () => {
  const harness = await nativeHarness()
  const first = await converse(harness, 'secret')
  const made = `${harness.directory}/made`
  const job = first.job('install', harness.script(`require('fs').writeFileSync(${JSON.stringify(made)}, '')`), {
    creates: made,
    removeCreatesOnFailure: true,
  })
  const workload = await first.workload('victim', { setup: [job], data: [{ name: 'kept' }] })
  await first.end()
  const { ref, title, stop } = workload
  const source = `
    import { createNativeEngine } from ${JSON.stringify(new URL('../src/native/index.ts', import.meta.url).href)}
    const engine = await createNativeEngine(${harness.optionsElsewhere})
    const context = { signal: new AbortController().signal, reveal: async () => 'secret', output: () => {} }
    console.log('begin')
    for (const change of ${JSON.stringify([
      { type: 'start', workload },
      { type: 'replace', workload, because: [] },
      { type: 'remove', ref, title, stop },
    ])}) {
      for (const step of engine.plan(change)) await engine.apply(step, context)
    }`
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const plane = spawn(process.execPath, ['--input-type=module', '-e', source], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const gone = once(plane, 'exit')
      await once(plane.stdout, 'data')
      await new Promise((resolve) => setTimeout(resolve, (kill * 67) % 500))
      plane.kill('SIGKILL')
      await gone

      const talk = await converse(harness, 'secret')
      const seen = await talk.observe('victim')
      assert.ok(
        seen === undefined || ['running', 'stopped', 'exited'].includes(seen.state),
        `kill ${kill}: ${seen?.state}`,
      )
      await talk.start(workload)
      assert.equal((await talk.observe('victim'))?.health, 'healthy')
      assert.equal((await harness.leftovers()).length, 2, `kill ${kill}: one program and its shell`)
      if (kill % 2 === 0) await talk.remove(workload)
      await talk.end()
    }
    const talk = await converse(harness, 'secret')
    await talk.remove(workload)
    assert.deepEqual(await harness.leftovers(), [])
    await talk.apply({ id: 'd', title: 'Delete', do: 'deleteData', project: ref.project, data: 'kept' })
    await talk.engine.removeLogs(ref.project, talk.signal)
    assert.deepEqual(await talk.engine.projects(talk.signal), [])
    await talk.end()
  } finally {
    await harness.close()
  }
})
