import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { databaseTypes, runtimeTypes, serviceTypes } from '@stackquay/catalog'

const source = join(import.meta.dirname, '..', 'src')
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(source, file), 'utf8') }))

test('no runtime, service or database is known to the page by its name', () => {
  const names = [...runtimeTypes, ...serviceTypes, ...databaseTypes].map((kind) => kind.name)
  const found = files.flatMap(({ file, text }) =>
    names.filter((name) => new RegExp(`['"\`]${name}['"\`]`).test(text)).map((name) => `${file}: ${name}`),
  )
  assert.deepEqual(found, [])
})

test('what a person reads comes from the dictionary: no text stands between tags', () => {
  const found = files
    .filter(({ file }) => file.endsWith('.tsx'))
    .flatMap(({ file, text }) =>
      [...text.matchAll(/<\w[^<>{}]*>\s*([A-Z][a-z]+[^<>{}]*)</g)].map((match) => `${file}: ${match[1]}`),
    )
  assert.deepEqual(found, [])
})
