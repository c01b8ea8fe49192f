import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { type MetricPoint, metricColumns } from '@stackquay/domain'
import { type MetricsFile, openMetricsFile, StoreFullError, StoreUnusableError } from '../src/index.ts'
import { packPoints, unpackPoints } from '../src/metrics-block.ts'
import { tempFile } from './temp-store.ts'

const hour = 3_600
const day = 24 * hour
const begin = Date.UTC(2026, 0, 5) / 1000
const row = (cpu: number | null, memory = 1000): MetricPoint['values'] =>
  metricColumns.map((column) => (column === 'cpu' ? cpu : column === 'memory' ? memory : null))

function opened(t: TestContext): { path: string; file: MetricsFile } {
  const path = tempFile(t)
  const file = openMetricsFile(path)
  t.after(() => file.close())
  return { path, file }
}

const cpuOf = (points: readonly MetricPoint[] | undefined) => points?.map(({ time, values }) => [time, values[0]])

test('any points go into a block and come out of it, in few bytes', () => {
  let seed = 7
  const chance = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  for (let round = 0; round < 200; round += 1) {
    const most = [10, 5_000, 2 ** 40, Number.MAX_SAFE_INTEGER / 4][round % 4]!
    let time = begin
    const points = Array.from({ length: Math.floor(chance() * 90) }, () => {
      time += 60 * (1 + Math.floor(chance() * 3))
      return { time, values: metricColumns.map(() => (chance() < 0.2 ? null : Math.floor(chance() * most))) }
    })
    assert.deepEqual(unpackPoints(packPoints(points, 60), 60), points)
  }
  const steady = Array.from({ length: 60 }, (_, index) => ({ time: begin + 60 * index, values: row(50 + (index % 3)) }))
  assert.ok(packPoints(steady, 60).length < 220, String(packPoints(steady, 60).length))
})

test('bytes that are no block are refused, not read past their end', () => {
  const whole = packPoints([{ time: begin, values: row(5) }], 60)
  for (let length = 0; length < whole.length; length += 1)
    assert.throws(() => unpackPoints(whole.subarray(0, length), 60), /block of metrics/)
  assert.throws(() => unpackPoints(Uint8Array.of(1, 255, 255, 255, 255, 127, 11, 0), 60), /damaged/)
  assert.throws(() => unpackPoints(Uint8Array.of(9, 0, 0, 0), 60), /another form/)
})

test('minutes are read as they were written, before and after their hour is packed, and add up to longer steps', async (t) => {
  const { file } = opened(t)
  for (let minute = 0; minute < 130; minute += 1) {
    // A gap of ten minutes.
    if (minute >= 30 && minute < 40) continue
    const time = begin + 60 * minute
    file.write([
      { project: 'p1', workload: 'node', time, values: row(minute) },
      { project: 'p2', workload: 'node', time, values: row(1) },
    ])
  }
  const wanted = { step: 60, from: begin, to: begin + 130 * 60 } as const
  const five = { step: 300, from: begin, to: begin + 130 * 60 } as const
  const before = await file.read('p1', wanted)
  const fives = await file.read('p1', five)
  assert.equal(before.get('node')?.length, 120)
  assert.equal(before.get('node')?.[30]?.time, begin + 40 * 60)
  assert.equal(fives.get('node')?.length, 24)
  await file.pack(begin + 131 * 60)
  await file.pack(begin + 131 * 60)
  assert.deepEqual(cpuOf((await file.read('p1', wanted)).get('node')), cpuOf(before.get('node')))
  const packed = (await file.read('p1', five)).get('node')
  assert.deepEqual(packed, fives.get('node'))
  assert.deepEqual(packed?.[1]?.values.slice(0, 2), [7, 9])
  const hours = (await file.read('p1', { step: hour, from: begin, to: begin + day })).get('node')
  assert.deepEqual(cpuOf(hours), [
    [begin, 29],
    [begin + hour, 90],
    [begin + 2 * hour, 125],
  ])
  assert.deepEqual([...(await file.read('p1', { ...wanted, workload: 'other' })).keys()], [])
  // Made of hours that are packed and of the one that is not.
  const half = (await file.read('p1', { step: 21_600, from: begin, to: begin + day })).get('node')
  assert.deepEqual(
    half?.map(({ time, values }) => [time, ...values.slice(0, 2)]),
    [[begin, Math.round((29 + 90 + 125) / 3), 129]],
  )
  await file.pack(begin + day)
  assert.deepEqual((await file.read('p1', { step: 21_600, from: begin, to: begin + day })).get('node'), half)
})

test('a clock that goes back writes over what it wrote, also into an hour that is packed', async (t) => {
  const { file } = opened(t)
  for (let minute = 0; minute < 60; minute += 1)
    file.write([{ project: 'p', workload: 'w', time: begin + 60 * minute, values: row(100) }])
  await file.pack(begin + hour)
  for (let minute = 30; minute < 60; minute += 1)
    file.write([{ project: 'p', workload: 'w', time: begin + 60 * minute, values: row(300) }])
  await file.pack(begin + hour)
  const read = async (step: 60 | 3_600) => (await file.read('p', { step, from: begin, to: begin + hour })).get('w')
  const minutes = (await read(60))!
  assert.equal(minutes.length, 60)
  assert.deepEqual([minutes[29]?.values[0], minutes[30]?.values[0]], [100, 300])
  assert.equal((await read(3_600))?.[0]?.values[0], 200)
})

test('what is older than is kept goes, and names of which nothing is left; a project that is forgotten has nothing', async (t) => {
  const { file, path } = opened(t)
  const times = [begin, begin + 3 * day, begin + 100 * day]
  for (const time of times) {
    file.write([{ project: 'p', workload: 'w', time, values: row(1) }])
    file.write([{ project: 'gone', workload: 'w', time, values: row(1) }])
    await file.pack(time + hour)
  }
  file.prune(begin + 100 * day + hour)
  const count = async (step: 60 | 300 | 3_600) =>
    (await file.read('p', { step, from: begin, to: begin + 101 * day })).get('w')?.length
  assert.deepEqual([await count(60), await count(300), await count(3_600)], [1, 1, 3])
  file.forget('gone')
  assert.deepEqual(file.projects(), ['p'])
  assert.deepEqual([...(await file.read('gone', { step: 60, from: begin, to: begin + 200 * day })).keys()], [])
  const rows = new DatabaseSync(path, { readOnly: true })
  t.after(() => rows.close())
  assert.deepEqual({ ...rows.prepare('select count(distinct series) as n from blocks').get() }, { n: 1 })
  file.prune(begin + 600 * day)
  assert.deepEqual(file.projects(), [])
})

test('a full disk writes nothing of a minute and loses nothing of before; with space it goes on', async (t) => {
  const { file, path } = opened(t)
  const many = (time: number) =>
    Array.from({ length: 40 }, (_, index) => ({ project: 'p', workload: `w${index}`, time, values: row(time % 7919) }))
  file.write(many(begin))
  let written = 1
  // The same error as of a disk without space: the file may not grow.
  const tight = openMetricsFile(path, { mostPages: 14 })
  t.after(() => tight.close())
  assert.throws(
    () => {
      for (; written < 5_000; written += 1) tight.write(many(begin + 60 * written))
    },
    (error: unknown) => error instanceof StoreFullError,
  )
  const counts = (await file.read('p', { step: 60, from: begin, to: begin + 5_000 * 60 })).values()
  assert.deepEqual([...new Set([...counts].map((points) => points.length))], [written])
  file.write(many(begin + 60 * written))
})

test('a file of another program or of a newer version is refused and left as it is; its mode is for its owner alone', (t) => {
  const { path } = opened(t)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(`${path}-wal`).mode & 0o777, 0o600)
  const other = tempFile(t)
  writeFileSync(other, 'no database at all, but long enough to be looked at as one. '.repeat(20))
  assert.throws(
    () => openMetricsFile(other),
    (error: unknown) => error instanceof StoreUnusableError,
  )
  const newer = tempFile(t)
  const database = new DatabaseSync(newer)
  database.exec('PRAGMA user_version = 99')
  database.close()
  assert.throws(() => openMetricsFile(newer), /newer version/)
})
