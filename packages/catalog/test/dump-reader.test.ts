import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DumpMode, type DumpNote, databaseTypeOf } from '@stackquay/catalog'
import { newlines } from '../src/dumps/bytes.ts'

/** What goes on to the program, in pieces of so many bytes, and what was noted. */
function readIn(type: string, dump: string, pieces: number, mode: DumpMode = 'append'): [string, readonly DumpNote[]] {
  const reader = databaseTypeOf(type)!.dump!.reader({ mode, key: 'KEY' })
  const bytes = Buffer.from(dump)
  const out: Buffer[] = []
  for (let at = 0; at < bytes.length; at += pieces) out.push(...reader.read(bytes.subarray(at, at + pieces)))
  out.push(...reader.end())
  return [Buffer.concat(out).toString(), reader.notes()]
}

const postgresql = String.raw`--
-- PostgreSQL database dump
--
\restrict abc
SET transaction_timeout = 0;
CREATE TABLE t (a text, "b;c" text DEFAULT '; DROP DATABASE x; \! rm');
COPY public.t (a, "b;c") FROM stdin;
x\.	; DROP DATABASE evil;
\! rm -rf /
\.
CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 2 END; END;
CREATE FUNCTION g() RETURNS int AS $x$ begin; \! rm
ALTER TABLE x OWNER TO bob; end $x$ LANGUAGE plpgsql;
SELECT E'it\'s; \! foo', '\', a$b$c FROM t;
CREATE RULE r AS ON INSERT TO t DO ALSO (SELECT 1; DROP DATABASE x);
/* DROP DATABASE /* nested */ x; */
CREATE SCHEMA public;
ALTER TABLE public.t
  OWNER TO alice;
DROP DATABASE IF EXISTS "other";
SELECT 1
--
-- PostgreSQL database dump complete
--
\unrestrict abc
`

test('a dump is read the same in pieces of any size, and what is data, text or comment stays as it is', () => {
  const [text, notes] = readIn('postgresql', postgresql, 1 << 20)
  for (const size of [1, 2, 7, 255, 256, 257, 300, 513])
    assert.deepEqual(readIn('postgresql', postgresql, size), [text, notes], String(size))
  assert.deepEqual(notes, [
    { kind: 'owner', text: 'OWNER TO alice', count: 1, lines: [18] },
    { kind: 'database', text: 'DROP DATABASE "other"', count: 1, lines: [20] },
  ])
  const expected = postgresql
    .replace('\\restrict abc', '')
    .replace('SET transaction_timeout = 0;', '')
    .replace('SCHEMA public', 'SCHEMA IF NOT EXISTS public')
    .replace('ALTER TABLE public.t\n  OWNER TO alice;', '\n')
    .replace('DROP DATABASE IF EXISTS "other";', '')
    .replace('\\unrestrict abc', '')
  assert.equal(text, `${expected}\n\\unrestrict KEY\n`)
})

const mysql = String.raw`/*!999999\- enable the sandbox mode */ 
-- MySQL dump 10.13
/*!40101 SET @OLD=@@X */;
USE ${'`prod`'};
INSERT INTO t VALUES (1,'it''s \'; USE other; \\','b"'),(2,0xABCD);
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=${'`root`@`localhost`'}*/ /*!50003 TRIGGER x BEFORE INSERT ON t FOR EACH ROW begin set @a=1; DROP DATABASE y; end */;;
DELIMITER ;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=${'`ro ot`@`%`'} SQL SECURITY DEFINER */
/*!50001 VIEW ${'`v`'} AS select 1 AS ${'`DEFINER=x`'} */;
# comment ' ;
SELECT 5--3;
-- other ' ;
-- Dump completed on 2026-01-01
`

test('a dump of the other family too, with its delimiters and its comments that are carried out', () => {
  const [text, notes] = readIn('mariadb', mysql, 1 << 20)
  for (const size of [1, 2, 7, 255, 256, 257, 300, 513])
    assert.deepEqual(readIn('mysql', mysql, size), [text, notes], String(size))
  assert.deepEqual(notes, [
    { kind: 'database', text: 'USE `prod`', count: 1, lines: [4] },
    { kind: 'owner', text: 'DEFINER=root@localhost', count: 1, lines: [7] },
    { kind: 'owner', text: 'DEFINER=root@%', count: 1, lines: [9] },
  ])
  const expected = mysql
    .replace(/^.*\n/, '\n')
    .replace('USE `prod`;', '')
    .replace('DEFINER=`root`@`localhost`', '')
    .replace('DEFINER=`ro ot`@`%`', '')
  assert.equal(text, `${expected}\n`)
})

test('a dump that was cut off is none, wherever it was cut', () => {
  const cut = /cut off/
  const end = postgresql.indexOf('-- PostgreSQL database dump complete')
  for (let length = 40; length < end; length += 7)
    assert.throws(() => readIn('postgresql', postgresql.slice(0, length), 64), cut, postgresql.slice(0, length))
  for (let length = 60; length < mysql.indexOf('-- Dump completed'); length += 7)
    assert.throws(() => readIn('mysql', mysql.slice(0, length), 64), cut, mysql.slice(0, length))
  for (const [type, text] of [
    ['postgresql', "SELECT 'x"],
    ['postgresql', 'SELECT $a$ x $b$'],
    ['postgresql', 'COPY t FROM stdin;\n1\n2'],
    ['postgresql', '/* x'],
    ['mariadb', "INSERT INTO t VALUES ('x\\'"],
  ] as const)
    assert.throws(() => readIn(type, text, 64), cut, text)
})

test('a dump of several databases comes into none', () => {
  assert.throws(() => readIn('postgresql', '\\connect a\nSELECT 1;\n\\c "b"\n', 64), /several databases: a, b/)
  assert.throws(() => readIn('mysql', 'USE a; SELECT 1; USE `b`;', 64), /several databases: a, b/)
  readIn('postgresql', '\\connect template1\n\\connect postgres\n\\connect shop\n', 64)
})

test('notes are counted, of texts that are alike together, and no more of them than a person reads', () => {
  const many = Array.from({ length: 300 }, (_, n) => `ALTER TABLE t${n} OWNER TO alice;\nDROP DATABASE d${n};\n`).join(
    '',
  )
  const [, notes] = readIn('postgresql', `${many}\\! \x1b[2J${'x'.repeat(500)}\n`, 64)
  assert.deepEqual([notes[0]?.text, notes[0]?.count, notes[0]?.lines.length], ['OWNER TO alice', 300, 20])
  assert.ok(notes.length <= 43)
  assert.equal(
    notes.reduce((sum, { count }) => sum + count, 0),
    601,
  )
  for (const { text } of notes) assert.match(text, /^[\x20-\x7e…]{1,120}$/)
})

test('a beginning that is very long is not kept', () => {
  const long = `CREATE TABLE t (${'a int, '.repeat(200_000)} b int);\nDROP DATABASE x;\n`
  const [text, notes] = readIn('postgresql', long, 1 << 16)
  assert.equal(text.length, long.length - 'DROP DATABASE x;'.length + '\n\\unrestrict KEY\n'.length)
  assert.deepEqual(
    notes.map(({ lines }) => lines),
    [[2]],
  )
})

test('a mark of UTF-8 in front of a dump hides nothing', () => {
  const [text, notes] = readIn('mariadb', '\uFEFFUSE prod;\n', 64)
  assert.deepEqual([text, notes.map((note) => note.text)], ['\n\n', ['USE prod']])
})

test('names in notes are shown as they are written', () => {
  const [, notes] = readIn('postgresql', 'DROP DATABASE "büro";\nGRANT ALL ON t TO "jörg";\n', 3)
  assert.deepEqual(
    notes.map(({ text }) => text),
    ['DROP DATABASE "büro"', 'GRANT ... TO "jörg"'],
  )
})

test('lines are counted the same, however long they are', () => {
  const plain = (bytes: Buffer, from: number, to: number) =>
    bytes.subarray(from, to).filter((byte) => byte === 10).length
  for (const length of [0, 1, 7, 99, 100, 101, 900]) {
    const bytes = Buffer.from(`${'x'.repeat(length)}\n`.repeat(500) + 'y\n'.repeat(300) + 'z'.repeat(3000))
    for (const [from, to] of [
      [0, bytes.length],
      [3, bytes.length - 5],
      [length, length * 40],
      [5, 5],
      [1, 2],
    ] as const)
      assert.equal(newlines(bytes, from, to), plain(bytes, from, to), `${length}, ${from} to ${to}`)
  }
})
