import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { filePage, isWithin, newNameBlocker, readFilePath } from '../src/files.ts'

describe('paths of files', () => {
  const names = (text: string) => {
    const path = readFilePath(text)
    return path.ok ? path.names : null
  }

  it('are names below the folder of the project', () => {
    assert.deepEqual(names(''), [])
    assert.deepEqual(names('/'), [])
    assert.deepEqual(names('/src//./app.ts/'), ['src', 'app.ts'])
    assert.deepEqual(names('a b/ü\n…'), ['a b', 'ü\n…'])
    assert.deepEqual(names('...'), ['...'])
  })

  it('never climb, hold no zero byte and no half characters, and are of a length that a system takes', () => {
    for (const text of [
      '..',
      'a/../b',
      '/../x',
      'a/..',
      'a\0b',
      '\ud800',
      'a'.repeat(256),
      'ü'.repeat(128),
      'a/'.repeat(1001),
    ])
      assert.equal(names(text), null, JSON.stringify(text).slice(0, 40))
    assert.deepEqual(names('a'.repeat(255)), ['a'.repeat(255)])
  })

  it('do not lead into the trash', () => {
    assert.equal(names('.stackquay-trash'), null)
    assert.equal(names('./.stackquay-trash/trs_1/x'), null)
    assert.deepEqual(names('src/.stackquay-trash'), ['src', '.stackquay-trash'])
  })

  it('know what lies within what', () => {
    assert.equal(isWithin(['a', 'b'], ['a']), true)
    assert.equal(isWithin(['a'], ['a']), true)
    assert.equal(isWithin(['ab'], ['a']), false)
    assert.equal(isWithin(['a'], ['a', 'b']), false)
  })
})

describe('new names', () => {
  it('can be seen', () => {
    for (const name of ['app.ts', '.env', 'Grüße 2', '日本']) assert.equal(newNameBlocker(name), null, name)
    for (const name of ['', '.', '..', 'a/b', 'a\nb', 'a\u202eb', 'a\u200bb', '\u0007'])
      assert.notEqual(newNameBlocker(name), null, JSON.stringify(name))
  })
})

describe('pages of a folder', () => {
  const files = [
    ...Array.from({ length: 25 }, (_, index) => ({
      name: `f${String(index).padStart(2, '0')}`,
      kind: 'file' as const,
    })),
    { name: 'z', kind: 'folder' as const },
  ].reverse()

  it('have folders first and then all, each once', () => {
    const seen: string[] = []
    for (let after = ''; ; ) {
      const { items, next } = filePage(files, { after, limit: 10 })
      seen.push(...items.map(({ name }) => name))
      if (next === null) break
      after = next
    }
    assert.deepEqual(seen, [
      'z',
      ...files
        .map(({ name }) => name)
        .filter((name) => name !== 'z')
        .sort(),
    ])
  })

  it('go on where they were when the name of the cursor is gone', () => {
    assert.deepEqual(filePage(files, { after: '1f22x', limit: 10 }), {
      items: [
        { name: 'f23', kind: 'file' },
        { name: 'f24', kind: 'file' },
      ],
      next: null,
    })
    assert.deepEqual(filePage(files, { after: '2', limit: 10 }), { items: [], next: null })
  })
})
