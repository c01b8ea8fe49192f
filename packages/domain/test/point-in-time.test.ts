import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ArchiveBase,
  baseFor,
  firstPiece,
  isArchiveLate,
  isSpareArchive,
  needsBase,
  restorableRanges,
  spareBases,
} from '../src/point-in-time.ts'

const at = (text: string) => new Date(`2026-11-${text}Z`)
const base = (day: string, piece: string, method: ArchiveBase['method'] = 'copy-on-write'): ArchiveBase => ({
  ...{ id: `snp_${day}`, createdAt: at(day).toISOString(), piece, method },
})
const now = at('20T12:00:00')
const whole = { runs: [{ first: 'A0', last: 'A9', endsAt: at('20T11:59:00').toISOString() }], newest: 'A9' }

test('a range begins with its first base and goes on until now while the data has the newest piece', () => {
  const bases = [base('19T10:00:00', 'A5'), base('18T10:00:00', 'A2')]
  const [range, ...more] = restorableRanges({ id: 'arc_1', bases }, whole, now)
  assert.deepEqual(more, [])
  assert.deepEqual([range?.from, range?.to, range?.last], [at('18T10:00:00'), now, 'A9'])
  assert.equal(baseFor([range!], at('18T09:59:59')), null)
  assert.equal(baseFor([range!], at('18T10:00:00'))?.base.piece, 'A2')
  assert.equal(baseFor([range!], at('19T09:59:59'))?.base.piece, 'A2')
  assert.equal(baseFor([range!], at('19T10:00:00'))?.base.piece, 'A5')
  assert.equal(baseFor([range!], new Date(now.getTime() + 1)), null)
})

test('a missing piece ends a range, and the next one begins with a base after it', () => {
  const runs = [
    { first: 'A0', last: 'A3', endsAt: at('18T12:00:00').toISOString() },
    { first: 'A5', last: 'A9', endsAt: at('20T11:59:00').toISOString() },
  ]
  const old = base('18T10:00:00', 'A2')
  const [only, ...none] = restorableRanges({ id: 'arc_1', bases: [old] }, { runs, newest: 'A9' }, now)
  assert.deepEqual([only?.to, only?.last, only?.isLive, none], [at('18T11:59:59'), 'A3', false, []])
  const both = restorableRanges({ id: 'arc_1', bases: [old, base('19T10:00:00', 'A6')] }, { runs, newest: 'A9' }, now)
  assert.deepEqual(
    both.map(({ from, to }) => [from, to]),
    [
      [at('18T10:00:00'), at('18T11:59:59')],
      [at('19T10:00:00'), now],
    ],
  )
  assert.equal(baseFor(both, at('18T20:00:00')), null)
  // The piece that its base needs is the one that is missing.
  assert.deepEqual(
    restorableRanges({ id: 'arc_1', bases: [base('18T10:00:00', 'A4')] }, { runs, newest: 'A9' }, now),
    [],
  )
})

test('what nobody writes any more, or whose newest piece is elsewhere, does not go on until now', () => {
  const bases = [base('18T10:00:00', 'A2')]
  for (const newest of [null, 'B0']) {
    const [range] = restorableRanges({ id: 'arc_1', bases }, { ...whole, newest }, now)
    assert.deepEqual([range?.to, range?.isLive], [at('20T11:58:59'), false])
  }
  const late = [base('20T11:58:59', 'A2')]
  assert.deepEqual(restorableRanges({ id: 'arc_1', bases: late }, { ...whole, newest: null }, now), [])
})

test('a base is made when there is none after a gap, and when the newest is old: whole copies less often', () => {
  const need = (bases: readonly ArchiveBase[], keepDays = 7) => needsBase({ bases, keepDays }, whole, now)
  assert.equal(need([]), true)
  assert.equal(needsBase({ bases: [], keepDays: 7 }, { runs: [] }, now), true)
  assert.equal(need([base('20T00:00:00', '90')]), true)
  assert.deepEqual([need([base('19T12:00:01', 'A2')]), need([base('19T12:00:00', 'A2')])], [false, true])
  assert.deepEqual(
    [need([base('18T12:00:00', 'A2', 'copy')]), need([base('17T12:00:00', 'A2', 'copy')])],
    [false, true],
  )
  assert.equal(need([base('19T12:00:00', 'A2', 'copy')], 1), true)
})

test('one base from before what is kept stays, and the last one whatever its age', () => {
  const bases = [
    base('10T00:00:00', 'A1'),
    base('12T00:00:00', 'A2'),
    base('13T11:59:59', 'A3'),
    base('15T00:00:00', 'A4'),
  ]
  const spare = spareBases({ bases, keepDays: 7 }, now)
  assert.deepEqual(
    spare.map(({ piece }) => piece),
    ['A1', 'A2'],
  )
  assert.deepEqual(spareBases({ bases: bases.slice(0, 1), keepDays: 1 }, now), [])
  assert.equal(firstPiece(bases.filter((one) => !spare.includes(one))), 'A3')
  assert.equal(firstPiece([]), null)
})

test('an archive goes when it ended before what is kept, and one that is written never does', () => {
  assert.equal(isSpareArchive({ endedAt: null, keepDays: 1 }, now), false)
  assert.equal(isSpareArchive({ endedAt: at('19T12:00:01').toISOString(), keepDays: 1 }, now), false)
  assert.equal(isSpareArchive({ endedAt: at('19T12:00:00').toISOString(), keepDays: 1 }, now), true)
})

test('pieces that wait for minutes are told of', () => {
  assert.equal(isArchiveLate({ waiting: 0, waitingSince: null }, now), false)
  assert.equal(isArchiveLate({ waiting: 1, waitingSince: at('20T11:59:00').toISOString() }, now), false)
  assert.equal(isArchiveLate({ waiting: 1, waitingSince: at('20T11:58:00').toISOString() }, now), true)
  assert.equal(isArchiveLate({ waiting: 1, waitingSince: null }, now), true)
})
