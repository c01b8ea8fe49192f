import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { runtimeTypeOf, type Settings, type SourceFiles, type Template, templates } from '@stackquay/catalog'
import { templateFolder } from '../src/folders.ts'
import { runtimeInput, settingsOf } from './support/inputs.ts'

function filesOf(template: Template): string[] {
  const folder = templateFolder(template)
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function sourceOf(template: Template, settings: Settings): SourceFiles {
  const kind = runtimeTypeOf(template.runtime)!
  return Object.fromEntries(
    kind.sourceFiles(settings).flatMap((file) => {
      const path = join(templateFolder(template), file)
      return existsSync(path) ? [[file, readFileSync(path, 'utf8')] as const] : []
    }),
  )
}

for (const template of templates) {
  describe(`The template ${template.name}`, () => {
    const kind = runtimeTypeOf(template.runtime)!
    const said = template.project[template.runtime] as Readonly<Record<string, unknown>>

    test('has settings that its runtime accepts, and only of that runtime', () => {
      assert.doesNotThrow(() => kind.settings.patch.parse(said))
      const runtimes = Object.keys(template.project).filter((key) => !['databases', 'env'].includes(key))
      assert.deepEqual(runtimes, [template.runtime])
    })

    test('can be run in both modes with the files it has: no script, file or application is missing', () => {
      for (const mode of ['development', 'production']) {
        const source = sourceOf(template, settingsOf(kind, said))
        const [spec] = kind.toWorkloads(runtimeInput(kind, { ...said, mode }, { source }))
        const folder = templateFolder(template)
        for (const { anyOf, hint } of spec!.requires) {
          const places = anyOf.map((path) => path.replace('/projects/shop', folder))
          assert.ok(
            places.some((path) => existsSync(path)),
            hint,
          )
        }
        const installs = spec!.setup.some((job) => job.name === 'install')
        assert.equal(installs, template.registry !== null, 'registry says whether something is to be installed')
      }
    })

    test('is recognised as what it is', () => {
      const detected = kind.detect(sourceOf(template, settingsOf(kind)))
      assert.equal(detected?.settings.preset, said.preset)
    })

    test('has small files, pins what it depends on, and names no server of packages', () => {
      for (const file of filesOf(template)) {
        const text = readFileSync(file, 'utf8')
        assert.ok(statSync(file).size < 200_000, file)
        assert.doesNotMatch(text, /registry\.npmjs|pypi\.org|rubygems\.org|packagist\.org|proxy\.golang/, file)
        if (basename(file) === 'package.json') {
          const lock = JSON.parse(readFileSync(join(dirname(file), 'package-lock.json'), 'utf8')) as {
            packages: Record<string, { resolved?: string; version?: string }>
          }
          for (const [name, version] of Object.entries(JSON.parse(text).dependencies as Record<string, string>)) {
            assert.equal(lock.packages[`node_modules/${name}`]?.version, version, `${name} is pinned and locked`)
          }
          for (const entry of Object.values(lock.packages)) assert.equal(entry.resolved, undefined)
        }
        if (basename(file) === 'requirements.txt') {
          for (const line of text.trim().split('\n')) assert.match(line, /^[\w[\]-]+==[\d.]+$/)
        }
      }
    })

    test('shows a page that has a title and says which file to edit', () => {
      if (template.folder.startsWith('examples/'))
        return assert.ok(filesOf(template).some((f) => f.endsWith('README.md')))
      const texts = filesOf(template).map((file) => readFileSync(file, 'utf8'))
      assert.ok(texts.some((text) => /<title>|title: '/.test(text)))
      assert.ok(texts.some((text) => /<code>[\w/]+\.\w+<\/code>/.test(text)))
    })
  })
}

test('Examples carry a project file that names the same runtime, databases and variables as the gallery', () => {
  const examples = templates.filter((template) => template.folder.startsWith('examples/'))
  assert.ok(examples.length >= 2)
  for (const template of examples) {
    const text = readFileSync(join(templateFolder(template), 'stackquay.yml'), 'utf8')
    assert.match(text, new RegExp(`^name: ${template.label}$`, 'm'))
    for (const [key, value] of Object.entries(template.project)) {
      assert.match(text, new RegExp(`^${key}:$`, 'm'))
      for (const [field, inner] of Object.entries(value as Record<string, unknown>)) {
        if (field !== 'enabled')
          assert.match(text, new RegExp(`^  ${field}:${typeof inner === 'string' ? ` ${inner}` : ''}$`, 'm'))
      }
    }
  }
})
