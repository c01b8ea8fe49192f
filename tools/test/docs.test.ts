import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { operationList, problemKinds } from '@stackquay/contract'
import { settings } from '../../apps/server/src/environment.ts'
import { filesBelow, read, root, workspaces } from '../repository.ts'

const documents = filesBelow().filter((file) => file.endsWith('.md') && !/(^|\/)(templates|examples)\//.test(file))

test('every link of every document leads to a file, and to a heading that is in it', () => {
  const broken = documents.flatMap((file) =>
    linksOf(read(file))
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [path, anchor] = link.split('#') as [string, string | undefined]
        const target = path === '' ? file : normalize(join(dirname(file), decodeURIComponent(path)))
        if (!existsSync(join(root, target))) return true
        return anchor !== undefined && target.endsWith('.md') && !anchorsOf(read(target)).includes(anchor)
      })
      .map((link) => `${file}: ${link}`),
  )
  assert.deepEqual(broken, [])
})

test('every problem, every operation and every setting is documented', () => {
  const problems = anchorsOf(read('docs/problems.md'))
  assert.deepEqual(
    Object.keys(problemKinds).filter((code) => !problems.includes(code)),
    [],
  )
  const api = read('docs/api.md')
  assert.deepEqual(
    operationList
      .filter(({ id, method, path }) => !api.includes(`### ${id}\n\n\`${method} ${path}\``))
      .map(({ id }) => id),
    [],
  )
  const configuration = read('docs/configuration.md')
  assert.deepEqual(
    Object.keys(settings).filter((name) => !configuration.includes(`\`${name}\``)),
    [],
  )
})

test('the documents a newcomer looks for are there and say something', () => {
  const wanted = [
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    'LICENSE',
    'docs/glossary.md',
    'docs/project-file.md',
    'docs/recipes/add-an-endpoint.md',
  ]
  assert.deepEqual(
    wanted.filter((file) => !existsSync(join(root, file)) || read(file).length < 500),
    [],
  )
})

test('ARCHITECTURE.md names every workspace', () => {
  const text = read('ARCHITECTURE.md')
  assert.deepEqual(
    workspaces()
      .map(({ folder }) => folder)
      .filter((folder) => !text.includes(`\`${folder}\``)),
    [],
  )
})

test('decisions are numbered without a gap, each once', () => {
  const numbers = filesBelow('docs/decisions').map((file) => Number(/\/(\d{4})-[a-z0-9-]+\.md$/.exec(file)?.[1]))
  assert.ok(numbers.length > 0)
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 1),
  )
})

test('commands named in documents are scripts of package.json', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const wrong = documents.flatMap((file) =>
    [...withoutCode(read(file), false).matchAll(/\bnpm run (?:--silent )?([a-z:]+)/g)]
      .map((match) => match[1]!)
      .filter((name) => !(name in scripts))
      .map((name) => `${file}: npm run ${name}`),
  )
  assert.deepEqual(wrong, [])
})

function linksOf(markdown: string): readonly string[] {
  return [...withoutCode(markdown, true).matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g)].map((match) => match[1]!)
}

/** Anchors as GitHub makes them from headings. */
function anchorsOf(markdown: string): readonly string[] {
  return [...withoutCode(markdown, false).matchAll(/^#{1,6} (.+)$/gm)].map((match) =>
    match[1]!
      .replace(/`|\[|\]\([^)]*\)/g, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function withoutCode(markdown: string, inline: boolean): string {
  const text = markdown.replace(/^```[\s\S]*?^```/gm, '')
  // A link's own text may be code: only code that holds a bracket is dropped.
  return inline ? text.replace(/`[^`\n]*\]\([^`\n]*`/g, '') : text
}
