import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellOf, csvLine, jsonObject } from '../src/browse/cells.ts'
import { CsvReader } from '../src/browse/csv-reader.ts'
import { BrowseError, type ColumnFacts, type TableFacts } from '../src/browse/driver.ts'
import { familyDialect } from '../src/browse/mysql-family/dialect.ts'
import { planOfJson, planOfLines } from '../src/browse/plan-tree.ts'
import { readerName, readerPassword } from '../src/browse/reader.ts'
import { decodeCursor, encodeCursor } from '../src/browse/row-cursor.ts'
import {
  editStatement,
  orderOf,
  orderText,
  type RowsAsk,
  rowsStatement,
  shownStatement,
} from '../src/browse/statements.ts'
import { uncountedRole } from '../src/databases/postgresql/backup/contents-sql.ts'
import { dialect as postgres } from '../src/databases/postgresql/browse/dialect.ts'

const maria = familyDialect(true)
const column = (name: string, more: Partial<ColumnFacts> = {}): ColumnFacts => ({
  ...{ name, type: 'text', kind: 'text', nullable: false, default: null, generated: false, comparable: true },
  ...more,
})
const table: TableFacts = {
  ...{ schema: 's', name: 't', kind: 'table', rowEstimate: null, foreignKeys: [], indexes: [] },
  columns: [
    column('a'),
    column('b'),
    column('n', { nullable: true }),
    column('j', { comparable: false }),
    column('x"`; --'),
  ],
  primaryKey: ['a', 'b'],
}
const ask = (more: Partial<RowsAsk>, sort: Parameters<typeof orderOf>[1] = null): RowsAsk => ({
  ...{ table, filters: [], order: orderOf(table, sort), cursor: null, last: false, from: null, limit: 11 },
  ...more,
})
const where = (text: string) => text.slice(text.indexOf(' WHERE '), text.indexOf(' ORDER BY'))

test('names are quoted, values are values', () => {
  const filters = [
    { column: 'x"`; --', operator: 'eq', value: "'; DROP TABLE t" },
    { column: 'j', operator: 'contains', value: '50%_\\' },
    { column: 'n', operator: 'null' },
  ] as const
  const one = rowsStatement(postgres, ask({ filters }))
  assert.match(
    one.text,
    /FROM "s"\."t" WHERE \("x""`; --" = \$1\) AND \("j"::text ILIKE \$2\) AND \("n" IS NULL\) ORDER BY "a" ASC, "b" ASC LIMIT 11$/,
  )
  assert.deepEqual(one.values, ["'; DROP TABLE t", '%50\\%\\_\\\\%'])
  const other = rowsStatement(maria, ask({ filters }))
  assert.match(other.text, /\(`x"``; --` = \?\) AND \(LOWER\(CAST\(`j` AS CHAR\)\) LIKE LOWER\(\?\)\)/)
  assert.deepEqual(other.values, one.values)
})

test('what stands behind a row, in every direction', () => {
  const at = (values: readonly (string | null)[], back: boolean, sort: Parameters<typeof orderOf>[1] = null) =>
    rowsStatement(postgres, ask({ cursor: { at: 'key', back, values, order: '' } }, sort))
  const next = at(['1', '2'], false)
  assert.equal(where(next.text), ' WHERE ("a" >= $1 AND (("a" > $2) OR ("a" = $3 AND "b" > $4)))')
  assert.deepEqual(next.values, ['1', '1', '1', '2'])
  const back = at(['1', '2'], true)
  assert.equal(where(back.text), ' WHERE ("a" <= $1 AND (("a" < $2) OR ("a" = $3 AND "b" < $4)))')
  assert.match(back.text, /ORDER BY "a" DESC, "b" DESC/)
  const down = at(['1', '2'], false, { column: 'a', descending: true })
  assert.match(down.text, /"a" <= \$1 .* ORDER BY "a" DESC, "b" DESC/)
})

test('NULL has its place where each server puts it', () => {
  const of = (dialect: typeof postgres, value: string | null, back: boolean, descending = false) => {
    const order = orderOf(table, { column: 'n', descending })
    const text = rowsStatement(
      dialect,
      ask({ order, cursor: { at: 'key', back, values: [value, '1', '2'], order: '' } }),
    ).text
    return where(text).slice(8).split(' OR ("n"')[0]?.split(' OR (`n`')[0]
  }
  assert.equal(of(postgres, '5', false), '(("n" > $1 OR "n" IS NULL))')
  assert.equal(of(postgres, '5', true), '("n" < $1)')
  assert.equal(of(postgres, null, false), '(1 = 0)')
  assert.equal(of(postgres, null, true), '("n" IS NOT NULL)')
  assert.equal(of(postgres, '5', false, true), '("n" < $1)')
  assert.equal(of(maria, '5', false), '(`n` > ?)')
  assert.equal(of(maria, '5', true), '((`n` < ? OR `n` IS NULL))')
  assert.equal(of(maria, null, false), '(`n` IS NOT NULL)')
})

test('a cursor comes back, and no other is taken', () => {
  const order = orderText(orderOf(table, null), [])
  const cursor = { at: 'key', back: true, values: ['1', null], order } as const
  assert.deepEqual(decodeCursor(encodeCursor(cursor), order), cursor)
  const offset = { at: 'offset', offset: 100, order } as const
  assert.deepEqual(decodeCursor(encodeCursor(offset), order), offset)
  const forged = [
    '',
    'x',
    encodeCursor({ ...cursor, order: 'another' }),
    Buffer.from('null').toString('base64url'),
    Buffer.from(JSON.stringify({ ...offset, offset: -1 })).toString('base64url'),
    Buffer.from(JSON.stringify({ ...offset, offset: '1; DROP TABLE t' })).toString('base64url'),
    Buffer.from(JSON.stringify({ ...cursor, values: [{}] })).toString('base64url'),
  ]
  for (const text of forged) assert.throws(() => decodeCursor(text, order), BrowseError, text)
})

test('edits name the row as it was', () => {
  const update = editStatement(postgres, table, {
    update: { old: { a: '1', b: 2, n: null, j: '{}' }, set: { n: "it's", j: null } },
  })
  assert.equal(
    update.text,
    'UPDATE "s"."t" SET "n" = $1, "j" = NULL WHERE "a" = $2 AND "b" = $3 AND "n" IS NULL AND "j"::text = $4',
  )
  assert.deepEqual(update.values, ["it's", '1', '2', '{}'])
  assert.equal(
    shownStatement(postgres, update),
    `UPDATE "s"."t" SET "n" = 'it''s', "j" = NULL WHERE "a" = '1' AND "b" = '2' AND "n" IS NULL AND "j"::text = '{}'`,
  )
  const insert = editStatement(maria, table, { insert: { a: '?', 'x"`; --': { base64: 'AP8=' } } })
  assert.equal(shownStatement(maria, insert), "INSERT INTO `s`.`t` (`a`, `x\"``; --`) VALUES ('?', X'00ff')")
  assert.equal(editStatement(maria, table, { insert: {} }).text, 'INSERT INTO `s`.`t` () VALUES ()')
  assert.throws(() => editStatement(postgres, table, { delete: { old: { a: '1' } } }), /needs the value of its key "b"/)
  assert.throws(() => editStatement(postgres, table, { update: { old: { a: 1, b: 2 }, set: {} } }), /names no column/)
  assert.throws(() => editStatement(postgres, table, { insert: { nope: 1 } }), /no column "nope"/)
  assert.throws(() => editStatement(postgres, { ...table, primaryKey: [] }, { insert: {} }), /no primary key/)
  assert.throws(() => editStatement(postgres, { ...table, kind: 'view' }, { insert: {} }), /no table/)
})

test('long values say how long they are, files hold all of them', () => {
  assert.deepEqual(cellOf('é'.repeat(5000)), { cut: 'é'.repeat(4096), bytes: 10_000 })
  assert.deepEqual(cellOf(Buffer.alloc(3)), { base64: 'AAAA', bytes: 3 })
  assert.equal(
    csvLine([1, null, '', 'a"b', 'c,d', 'e\nf', Buffer.from([255]), true]),
    '1,,"","a""b","c,d","e\nf",\\xff,true\r\n',
  )
  assert.equal(
    jsonObject([{ name: 'a"' }, { name: 'b' }], ['9007199254740993', null]),
    '{"a\\"":"9007199254740993","b":null}',
  )
})

test('records of a CSV file, however it is cut', () => {
  const text = 'a,"b ""c""\nd",\r\n\r\n"",e\rf,g'
  const all = [
    { line: 1, fields: ['a', 'b "c"\nd', null] },
    { line: 4, fields: ['', 'e'] },
    { line: 5, fields: ['f', 'g'] },
  ]
  for (let at = 0; at <= text.length; at++) {
    const reader = new CsvReader()
    assert.deepEqual([...reader.read(text.slice(0, at)), ...reader.read(text.slice(at)), ...reader.end()], all)
  }
  const unfinished = new CsvReader()
  unfinished.read('a,"b')
  assert.throws(() => unfinished.end(), /inside of quotes/)
  assert.throws(() => new CsvReader().read('"a"b'), /follows the quotes/)
})

test('a plan without an end has one here', () => {
  let deep: unknown = {}
  for (let at = 0; at < 5000; at++) deep = { nested: deep }
  assert.ok(JSON.stringify(planOfJson('query', deep)).length < 100_000)
  const plan = planOfJson('query', { query_block: { cost: 1.5, table: { table_name: 'book', rows: 3 } } })
  assert.deepEqual([plan.children[0]?.cost, plan.children[0]?.children[0]?.label], [1.5, 'table book'])
})

test('MySQL’s text of a measured plan becomes a tree', () => {
  const plan = planOfLines(
    'query',
    `-> Nested loop inner join  (cost=2.25e+3 rows=100) (actual time=0.1..12.5 rows=90 loops=1)
    -> Filter: (b.rank is not null)  (cost=1.5 rows=3) (actual time=40e-6..0.5 rows=2 loops=4)
        -> Table scan on b  (cost=0..0 rows=20000) (never executed)
    -> Single-row index lookup on author using PRIMARY (id = b.author)
`,
  )
  const [join] = plan.children
  assert.deepEqual(
    [join?.label, join?.cost, join?.rows, join?.milliseconds],
    ['Nested loop inner join', 2250, 100, 12.5],
  )
  const [filter, lookup] = join!.children
  assert.deepEqual([filter?.label, filter?.milliseconds], ['Filter: (b.rank is not null)', 2])
  assert.deepEqual([filter?.children[0]?.label, filter?.children[0]?.rows], ['Table scan on b', 20000])
  assert.equal(lookup?.label, 'Single-row index lookup on author using PRIMARY (id = b.author)')
  const deep = planOfLines('query', Array.from({ length: 5000 }, (_, at) => `${'    '.repeat(at)}-> x`).join('\n'))
  assert.ok(JSON.stringify(deep).length < 100_000)
})

test('the reader’s password is made of the database’s and tells nothing of it', () => {
  assert.equal(readerPassword('x'), readerPassword('x'))
  assert.notEqual(readerPassword('x'), readerPassword('y'))
  assert.match(readerPassword('x'), /^[0-9a-f]{64}$/)
})

test('the reader is the one that counts of contents leave out', () => {
  assert.equal(uncountedRole, readerName)
})
