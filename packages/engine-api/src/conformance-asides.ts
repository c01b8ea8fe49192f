import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { archiveEntry } from './conformance-archives.ts'
import { type Conversation, converse } from './conformance-conversation.ts'
import type { Harness } from './conformance-harness.ts'
import { EngineError } from './errors.ts'
import { dataPath } from './workload.ts'

/** What every engine promises of data that is set aside. */
export function asidesConformance(name: string, makeHarness: () => Promise<Harness>): void {
  describe(`data that is set aside on the engine ${name}`, () => {
    let harness: Harness
    let talk: Conversation
    before(async () => {
      harness = await makeHarness()
      talk = await converse(harness, 'none')
      // An engine of images copies data with an image that is there.
      const workload = await talk.workload('first', { data: [{ name: 'main' }] })
      await talk.start(workload)
      await talk.remove(workload)
      await drop(talk.project, 'main')
    })
    after(async () => {
      for (const { name: data, key } of await asides())
        await talk.engine.removeAside(talk.project, { name: data, key }, talk.signal)
      for (const data of await names()) await drop(talk.project, data)
      await talk.end()
      await harness.close()
    })

    const names = () => talk.engine.dataNames(talk.project, talk.signal)
    const asides = () => talk.engine.asides(talk.project, talk.signal)
    const drop = async (project: string, data: string) => {
      for (const step of talk.engine.plan({ type: 'deleteData', project, data })) await talk.apply(step)
    }
    const write = (text: string) => talk.engine.writeData(talk.project, 'main', archiveOf(text), talk.signal)
    const read = async () =>
      Buffer.concat(await Array.fromAsync(talk.engine.readData(talk.project, 'main', talk.signal)))
    const one = { name: 'main', key: 'trs_one' }
    const two = { name: 'main', key: 'trs_two' }
    const aside = (which = one) => talk.engine.setDataAside(talk.project, which, talk.signal)
    const back = (which = one) => talk.engine.putDataBack(talk.project, which, talk.signal)
    const remove = (which = one) => talk.engine.removeAside(talk.project, which, talk.signal)
    const refused = async (act: Promise<void>) => {
      const error = await act.then(() => null).catch((reason: unknown) => reason)
      assert.ok(error instanceof EngineError && error.code === 'engine_cannot', String(error))
      return error
    }

    test('it is gone for everything else, comes back byte for byte, and each act twice is the same as once', async () => {
      await write('first')
      const content = await read()
      await aside()
      await aside()
      assert.deepEqual(await names(), [])
      assert.deepEqual(await talk.engine.data(talk.project, talk.signal), [])
      assert.deepEqual(await asides(), [one])
      assert.ok((await talk.engine.projects(talk.signal)).includes(talk.project), 'it is found, for orphans')
      await back()
      await back()
      assert.deepEqual([await names(), await asides()], [['main'], []])
      assert.deepEqual(await read(), content)
      await drop(talk.project, 'main')
    })

    test('new data of the name is another one; a second attempt does not take it, and nothing takes its place', async () => {
      await write('first')
      const first = await read()
      await aside()
      await write('second')
      const second = await read()
      assert.notDeepEqual(second, first)
      await aside()
      assert.deepEqual(await names(), ['main'], 'what came since stays')
      await refused(back())
      assert.deepEqual(await read(), second)
      await aside(two)
      assert.deepEqual((await asides()).map(({ key }) => key).sort(), ['trs_one', 'trs_two'])
      await back()
      assert.deepEqual(await read(), first)
      await remove(two)
      await remove(two)
      assert.deepEqual([await read(), await asides()], [first, []])
      await refused(
        back(two)
          .then(() => drop(talk.project, 'main'))
          .then(() => back(two)),
      )
      assert.deepEqual(await names(), [])
    })

    test('what the second instance over the same machine finds is the same', async () => {
      await write('first')
      const first = await read()
      await aside()
      const second = await harness.open()
      assert.deepEqual(await second.asides(talk.project, talk.signal), [one])
      assert.deepEqual(await second.dataNames(talk.project, talk.signal), [])
      await second.putDataBack(talk.project, one, talk.signal)
      await second.close()
      assert.deepEqual(await read(), first)
      await drop(talk.project, 'main')
    })

    test('where there is nothing, nothing is done, and nothing is put back; names that lead elsewhere are refused', async () => {
      await aside()
      assert.deepEqual(await asides(), [])
      await refused(back())
      await remove()
      await write('first')
      for (const which of [
        { name: '../main', key: 'trs_one' },
        { name: 'main', key: '../trs_one' },
        { name: 'main', key: 'a@b' },
      ])
        await refused(aside(which))
      assert.deepEqual([await names(), await asides()], [['main'], []])
      await drop(talk.project, 'main')
    })

    test('while a workload uses it, it stays; one that starts after it was set aside begins with nothing', async () => {
      const run = { ...harness.programs.serve(), cwd: harness.directory }
      const workload = await talk.workload('user', {
        data: [{ name: 'main' }],
        run,
        env: { DIRECTORY: dataPath('main') },
      })
      await talk.start(workload)
      assert.equal((await refused(aside())).retryable, true)
      assert.deepEqual([await names(), await asides()], [['main'], []])
      await talk.stop(workload)
      await aside()
      assert.deepEqual(await names(), [])
      await talk.start(workload)
      assert.deepEqual([await names(), await asides()], [['main'], [one]])
      await talk.remove(workload)
      await drop(talk.project, 'main')
      assert.deepEqual(await asides(), [one], 'deleting what came since leaves it alone')
      await back()
      assert.deepEqual(await names(), ['main'])
      await drop(talk.project, 'main')
      await talk.engine.removeLogs(talk.project, talk.signal)
      assert.deepEqual(await talk.engine.projects(talk.signal), [])
    })
  })
}

async function* archiveOf(text: string): AsyncGenerator<Buffer, void> {
  yield archiveEntry('./', '5', '')
  yield archiveEntry('./content', '0', text)
  yield Buffer.alloc(1024)
}
