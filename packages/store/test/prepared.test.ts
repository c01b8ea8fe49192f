import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { SqliteFile } from '../src/dialect.ts'
import { kept, prepareOn } from '../src/prepared.ts'
import { tempFile } from './temp-store.ts'

test('a question is asked once until somebody else writes, whatever they write', async (t) => {
  const { ask, asked, write } = questionOver(t)
  assert.equal(await ask(1), 'answer 1')
  assert.equal(await ask(1), 'answer 1')
  assert.equal(await ask(2), 'answer 2')
  assert.deepEqual(asked.splice(0), [1, 2])

  write()
  assert.equal(await ask(1), 'answer 1')
  assert.equal(await ask(2), 'answer 2')
  assert.deepEqual(asked, [1, 2])
})

test('an answer that a write overtook is not kept', async (t) => {
  const { ask, asked, write, whileAsked } = questionOver(t)
  whileAsked(write)
  await ask(1)
  await ask(1)
  await ask(1)
  assert.deepEqual(asked, [1, 1])
})

test('what is not found is asked for each time', async (t) => {
  const { ask, asked } = questionOver(t)
  assert.equal(await ask(-1), null)
  assert.equal(await ask(-1), null)
  assert.deepEqual(asked, [-1, -1])
})

test('however many questions are asked, a bounded number of answers is kept', async (t) => {
  const { ask, asked } = questionOver(t)
  for (let key = 1; key <= 1_001; key += 1) await ask(key)
  asked.length = 0
  for (let key = 1; key <= 1_001; key += 1) assert.equal(await ask(key), `answer ${key}`)
  assert.ok(asked.length > 0)
})

/** A question whose answers are in no table: what counts is when it is asked. Negative keys have none. */
function questionOver(t: TestContext) {
  const path = tempFile(t)
  const other = new DatabaseSync(path)
  t.after(() => other.close())
  other.exec('pragma journal_mode = wal; create table writes (n integer)')
  const file = new SqliteFile(path, new DatabaseSync(path, { readOnly: true }))
  t.after(() => file.close())
  const asked: number[] = []
  let meanwhile = () => {}
  const { ask } = kept(prepareOn(file), async (key: number) => {
    asked.push(key)
    const act = meanwhile
    meanwhile = () => {}
    act()
    return key < 0 ? null : `answer ${key}`
  })
  return {
    ask,
    asked,
    write: () => other.exec('insert into writes values (1)'),
    whileAsked: (act: () => void) => {
      meanwhile = act
    },
  }
}
