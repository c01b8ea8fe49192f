import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type Target, TargetError, type TargetErrorCode } from '@stackquay/targets'
import { checkTarget } from '@stackquay/targets/put-checked'

/** A real place, and ways to make it go wrong. */
export interface Place extends AsyncDisposable {
  /** One more target in the same place. */
  open(): Promise<Target>
  /** What of an object lies there, looked at past the driver; null when nothing does. */
  look(name: string): Promise<Buffer | null>
  /** Names right at its top, looked at past the driver. */
  names(): Promise<readonly string[]>
  /** A target whose folder or bucket is not there, and one whose credentials or rights do not do. */
  missing(): Promise<Target>
  refused(): Promise<Target>
  /** A target at an address where nothing answers; null where there are no addresses. */
  unreachable(): Promise<Target | null>
}

export const never = new AbortController().signal

export function targetError(code: TargetErrorCode) {
  return (error: unknown) => {
    assert.ok(error instanceof TargetError, `no TargetError, but ${(error as Error).stack}`)
    assert.equal(error.code, code, error.message)
    return true
  }
}

/** What every kind of target promises, against the real thing. */
export function conformance(title: string, openPlace: () => Promise<Place>): void {
  describe(title, { concurrency: false }, () => {
    let place: Place
    let target: Target
    before(async () => {
      place = await openPlace()
      target = await place.open()
    })
    after(async () => {
      await target.close()
      await place[Symbol.asyncDispose]()
    })

    for (const size of [0, 1, 32_768, 100_000, 9 << 20])
      test(`an object of ${size} bytes is read as it was written`, async () => {
        const bytes = randomBytes(size)
        await target.put(`sizes/${size}.age`, bytes, never)
        assert.ok((await target.get(`sizes/${size}.age`, size, never))?.equals(bytes))
        assert.equal(await target.stat(`sizes/${size}.age`, never), size)
        assert.ok((await place.look(`sizes/${size}.age`))?.equals(bytes), 'it does not lie where it should')
      })

    test('an object replaces the one before', async () => {
      await target.put('replaced.age', Buffer.from('a longer text'), never)
      await target.put('replaced.age', Buffer.from('text'), never)
      assert.equal((await target.get('replaced.age', 100, never))?.toString(), 'text')
    })

    test('what is not there is null, and may be removed', async () => {
      assert.equal(await target.get('nothing/there.age', 100, never), null)
      assert.equal(await target.stat('nothing/there.age', never), null)
      assert.deepEqual(await target.list('nothing', never), new Map())
      await target.remove('nothing/there.age', never)
    })

    test('a list names the objects right in a folder, however many', async () => {
      for (const name of ['list/b.age', 'list/a.age', 'list/deeper/c.age', 'listed.age'])
        await target.put(name, Buffer.from(name), never)
      assert.deepEqual([...(await target.list('list', never))].sort(), [
        ['a.age', 10],
        ['b.age', 10],
      ])
      for (let at = 0; at < 1050; at += 50)
        await Promise.all(
          Array.from({ length: 50 }, (_, more) => target.put(`many/${at + more}.age`, Buffer.from('x'), never)),
        )
      assert.equal((await target.list('many', never)).size, 1050)
    })

    test('folders are named, and tell when the newest of their objects was written', async () => {
      const began = Date.now()
      for (const name of ['times/a/x.age', 'times/b/y.age', 'times/z.age'])
        await target.put(name, Buffer.from(name), never)
      assert.deepEqual([...(await target.folders('times', never))].sort(), ['a', 'b'])
      assert.deepEqual(await target.folders('times/none', never), [])
      // Whole seconds, by a clock of this machine.
      const [a = null, none] = [await target.changedAt('times/a', never), await target.changedAt('times', never)]
      assert.ok(a !== null && a >= began - 2000 && a <= Date.now() + 2000, `${a} is not now`)
      assert.ok(none !== null)
      assert.equal(await target.changedAt('times/none', never), null)
    })

    test('what is removed is gone, and the rest stays', async () => {
      await target.put('removed/a.age', Buffer.from('a'), never)
      await target.put('removed/b.age', Buffer.from('b'), never)
      await target.remove('removed/a.age', never)
      assert.deepEqual([...(await target.list('removed', never)).keys()], ['b.age'])
      await target.remove('removed/b.age', never)
      assert.deepEqual([...(await target.list('removed', never)).keys()], [])
      assert.equal(await place.look('removed/b.age'), null)
    })

    test('more than was asked for is damaged, and is not read', async () => {
      await target.put('large.age', randomBytes(2000), never)
      await assert.rejects(target.get('large.age', 1999, never), targetError('damaged'))
    })

    test('names that are none of this package are refused', async () => {
      for (const name of ['../up.age', '/etc/passwd', 'a/../b', 'a//b', '.hidden', '', 'a\nb', 'A'])
        await assert.rejects(async () => target.put(name, Buffer.from('x'), never), TypeError, name)
    })

    test('a call whose signal aborts ends with its reason, and the next one works', async () => {
      const reason = new Error('cancelled')
      await assert.rejects(target.put('aborted.age', randomBytes(100), AbortSignal.abort(reason)), (e) => e === reason)
      const later = new AbortController()
      const putting = target.put('aborted.age', randomBytes(9 << 20), later.signal)
      setTimeout(() => later.abort(reason), 5)
      await putting.then(
        () => undefined,
        (error) => assert.equal(error, reason),
      )
      await target.put('after.age', Buffer.from('after'), never)
      assert.equal((await target.get('after.age', 100, never))?.toString(), 'after')
    })

    test('a closed target opens again', async () => {
      const other = await place.open()
      await other.put('closed.age', Buffer.from('1'), never)
      await other.close()
      await other.put('closed.age', Buffer.from('2'), never)
      assert.equal((await target.get('closed.age', 100, never))?.toString(), '2')
      await other.close()
      await other.close()
    })

    test('a check leaves nothing', async () => {
      await checkTarget(target, never)
      assert.deepEqual(
        (await place.names()).filter((name) => name.startsWith('check-')),
        [],
      )
    })

    test('a place that is not there is told at once, and is not made', async () => {
      const lost = await place.missing()
      await assert.rejects(checkTarget(lost, never), targetError('missing'))
      await assert.rejects(lost.put('backups/x.age', Buffer.from('x'), never), targetError('missing'))
      await lost.close()
    })

    test('wrong credentials or rights are told at once', async () => {
      const closed = await place.refused()
      await assert.rejects(checkTarget(closed, never), targetError('refused'))
      await closed.close()
    })

    test('an address where nothing answers is one to try again', async () => {
      const gone = await place.unreachable()
      if (gone === null) return
      await assert.rejects(checkTarget(gone, never), (error) => {
        targetError('unreachable')(error)
        return (error as TargetError).retryable
      })
      await gone.close()
    })
  })
}
