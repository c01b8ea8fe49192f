import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, readConfig } from '../src/config.ts'
import { ImageMapError, imageMapOf } from '../src/image-map.ts'

const mapped = (map: string, ...references: readonly string[]) => references.map(imageMapOf(map))

test('without an entry an image is what it is', () => {
  assert.deepEqual(mapped('', 'postgres:18'), ['postgres:18'])
  assert.deepEqual(mapped(' , \n', 'postgres:18'), ['postgres:18'])
  assert.deepEqual(mapped('redis:8=valkey:9', 'postgres:18', 'redis:8.0', 'my/redis:8'), [
    'postgres:18',
    'redis:8.0',
    'my/redis:8',
  ])
})

test('an image has another in its place, as it is written or in full', () => {
  const map =
    'postgres:18=db.test:5000/pg:18, docker.io/library/redis:8=valkey/valkey:9,docker.io/getmeili/meilisearch:v1=m:1'
  assert.deepEqual(mapped(map, 'postgres:18', 'redis:8', 'getmeili/meilisearch:v1'), [
    'db.test:5000/pg:18',
    'valkey/valkey:9',
    'm:1',
  ])
})

test('a mirror stands for all below a prefix; what is exact and what is longer wins', () => {
  const map =
    'docker.io/*=mirror.test/*\ndocker.io/library/*=mirror.test/official/*\nredis:8=valkey:9\nghcr.io/*=mirror.test/gh/*'
  assert.deepEqual(mapped(map, 'postgres:18', 'getmeili/meilisearch:v1', 'redis:8', 'ghcr.io/a/b:1', 'quay.io/a/b:1'), [
    'mirror.test/official/postgres:18',
    'mirror.test/getmeili/meilisearch:v1',
    'valkey:9',
    'mirror.test/gh/a/b:1',
    'quay.io/a/b:1',
  ])
  assert.deepEqual(mapped('localhost:5000/*=b.test/*', 'localhost:5000/a:1'), ['b.test/a:1'])
})

test('a file holds the same as a JSON object', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'stackquay-map-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'map.json')
  writeFileSync(file, JSON.stringify({ 'postgres:18': 'pg:18' }))
  assert.equal(readConfig({ STACKQUAY_IMAGE_MAP: `@${file}` }).imageOf('postgres:18'), 'pg:18')
  assert.equal(readConfig({}).imageOf('postgres:18'), 'postgres:18')
  writeFileSync(file, '{"postgres:18": 18')
  const refused = (value: string) => {
    try {
      readConfig({ STACKQUAY_IMAGE_MAP: value })
    } catch (error) {
      if (error instanceof ConfigError) return error.message
      throw error
    }
    return ''
  }
  assert.match(refused(`@${file}`), /STACKQUAY_IMAGE_MAP is not valid: it is not valid JSON/)
  assert.match(refused(`@${join(folder, 'missing.json')}`), /missing\.json, which cannot be read/)
})

test('every wrong entry is told at once', () => {
  const faults: readonly (readonly [string, RegExp])[] = [
    ['postgres:18', /"postgres:18" says not what takes its place/],
    ['=a', /"=a"|"" says not|not the name of an image/],
    ['a/*=b', /both sides end in/],
    ['a=b/*', /both sides end in/],
    ['a b=c', /"a b" is not the name of an image/],
    ['a=b,a=c', /"a" stands there twice/],
    ['{"a": 1}', /"a" says not what takes its place/],
    ['[1]', /not/],
  ]
  for (const [map, message] of faults)
    assert.throws(
      () => imageMapOf(map),
      (error) => {
        assert.ok(error instanceof ImageMapError, map)
        assert.match(error.message, message, map)
        return true
      },
    )
  assert.throws(() => imageMapOf('x,a/*=b'), /"x" says.*both sides/)
})
