import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { crumbsOf, joined, lineEndOf, readFilesSearch, textIn } from '../src/lib/files.ts'

describe('files on the page', () => {
  it('are text when they are UTF-8 without zeros', () => {
    assert.equal(textIn(new TextEncoder().encode('grün\n')), 'grün\n')
    assert.equal(textIn(new Uint8Array([0xef, 0xbb, 0xbf, 0x61])), '\ufeffa')
    assert.equal(textIn(new Uint8Array([0x61, 0xff])), null)
    assert.equal(textIn(new Uint8Array([0x61, 0])), null)
    assert.equal(textIn(new Uint8Array()), '')
  })

  it('keep their line ends where they have one kind', () => {
    assert.equal(lineEndOf('a\r\nb\r\n'), '\r\n')
    assert.equal(lineEndOf('a\r\nb\n'), '\n')
    assert.equal(lineEndOf('\na\r\n'), '\n')
    assert.equal(lineEndOf('a'), '\n')
  })

  it('have paths with each folder on the way', () => {
    assert.equal(joined('', 'a'), 'a')
    assert.equal(joined('a/b', 'c'), 'a/b/c')
    assert.deepEqual(crumbsOf('a/b'), [
      { name: 'a', path: 'a' },
      { name: 'b', path: 'a/b' },
    ])
    assert.deepEqual(crumbsOf(''), [])
  })

  it('take from an address what may be a path', () => {
    assert.deepEqual(readFilesSearch({ path: 'a', file: 'a/b', other: 1 }), { path: 'a', file: 'a/b' })
    assert.deepEqual(readFilesSearch({ path: '', file: ['x'] }), {})
  })
})
