import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  databaseTypes,
  type RuntimeType,
  runtimeTypeOf,
  runtimeTypes,
  type ServiceType,
  serviceTypes,
  templates,
} from '@stackquay/catalog'
import { z } from 'zod'
import { serviceInput, settingsOf } from './support/inputs.ts'

const src = fileURLToPath(new URL('../src', import.meta.url))

function checkReleases({ releases, lineOf }: Pick<RuntimeType, 'releases' | 'lineOf'>): void {
  const numbers = releases.map(({ version }) => version.split('.').map(Number))
  const sorted = [...numbers].sort((a, b) => b[0]! - a[0]! || (b[1] ?? 0) - (a[1] ?? 0))
  assert.deepEqual(numbers, sorted)
  for (const { version, endOfLife } of releases) {
    assert.equal(lineOf(`${version}.7`), version)
    if (endOfLife !== null) assert.equal(new Date(endOfLife).toISOString().slice(0, 10), endOfLife)
  }
}

/** What GET answers of a secret: whether there is one. */
function shown(kind: ServiceType, value: unknown, path: readonly string[] = []): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => {
      const here = [...path, field]
      return kind.settings.secretFields.some((secret) => secret.join('.') === here.join('.'))
        ? [`has${field[0]!.toUpperCase()}${field.slice(1)}`, inner !== null]
        : [field, shown(kind, inner, here)]
    }),
  )
}

function foldersOf(path: string): string[] {
  return readdirSync(join(src, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

describe('The registries', () => {
  test('name exactly the folders beside them', () => {
    const names = (kinds: readonly { readonly name: string }[]) => kinds.map((kind) => kind.name).sort()
    assert.deepEqual(names(runtimeTypes), foldersOf('runtimes'))
    assert.deepEqual(names(databaseTypes), foldersOf('databases'))
    assert.deepEqual(names(serviceTypes), foldersOf('services'))
    const own = templates.filter((template) => !template.folder.startsWith('examples/'))
    assert.deepEqual(names(own), foldersOf('templates'))
  })

  test('have no name twice, aliases counted', () => {
    const all = [
      ...runtimeTypes.map((kind) => kind.name),
      ...serviceTypes.map((kind) => kind.name),
      ...databaseTypes.flatMap((kind) => [kind.name, ...kind.aliases]),
    ]
    assert.deepEqual([...new Set(all)], all)
    assert.equal(new Set(templates.map((template) => template.name)).size, templates.length)
    assert.equal(new Set(runtimeTypes.map((kind) => kind.urlOrder)).size, runtimeTypes.length)
  })

  test('keep the order in which runtimes own the URL of a project', () => {
    const byOrder = [...runtimeTypes].sort((a, b) => a.urlOrder - b.urlOrder).map((kind) => kind.name)
    assert.deepEqual(byOrder, ['php', 'python', 'go', 'ruby', 'node', 'static'])
  })

  test('can be read by the web page: nothing that the index imports needs Node', () => {
    const seen = new Set<string>()
    const visit = (file: string) => {
      if (seen.has(file)) return
      seen.add(file)
      const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export)\s(?!type\b)[^'";]*?from\s+'([^']+)'/gm)
      for (const [, name] of imports) {
        assert.ok(!name!.startsWith('node:'), `${file} imports ${name}`)
        assert.notEqual(
          name,
          '@stackquay/engine-api',
          `${file} imports the engine's index, which hashes with node:crypto`,
        )
        if (name!.startsWith('.')) visit(join(dirname(file), name!))
      }
    }
    visit(join(src, 'index.ts'))
    assert.ok(seen.size > 30)
  })
})

describe('The settings of every runtime', () => {
  for (const kind of runtimeTypes) {
    test(`${kind.name}: defaults are valid, unknown fields are refused, and a GET answer may be sent back`, () => {
      const stored = settingsOf(kind)
      assert.equal(stored.mode, 'development')
      assert.throws(() => kind.settings.stored.parse({ ...stored, surprise: 1 }))
      const nested = kind.name === 'node' ? { devServer: { ...(stored.devServer as object), hostPort: null } } : {}
      const view = { ...stored, ...nested, hostPort: 20001, debugHostPort: null }
      assert.deepEqual(kind.settings.view.parse(view), view)
      assert.doesNotThrow(() => kind.settings.patch.parse(view))
      assert.deepEqual(kind.settings.patch.parse({}), {})
    })

    test(`${kind.name}: can be described as a JSON Schema with a text for every field`, () => {
      const schema = z.toJSONSchema(kind.settings.stored) as { properties: Record<string, { description?: string }> }
      for (const [field, { description }] of Object.entries(schema.properties)) {
        assert.ok(description, `${kind.name}.${field} has no description`)
      }
    })

    test(`${kind.name}: offers releases newest first and stores their lines`, () => checkReleases(kind))
  }

  test('refuse folders outside the project', () => {
    const { patch } = runtimeTypeOf('node')!.settings
    for (const folder of ['/etc', '..', 'a/../..', 'a/..', '../b', '', 'a\\b']) {
      assert.equal(patch.safeParse({ package: folder }).success, false, folder)
    }
    for (const folder of ['.', 'apps/web', 'a..b', './a']) {
      assert.equal(patch.safeParse({ package: folder }).success, true, folder)
    }
  })

  test('recognise versions as the programs print them', () => {
    const printed: Record<string, [string, string]> = {
      node: ['v26.10.0\n', '26.10.0'],
      python: ['Python 3.11.2\n', '3.11.2'],
      go: ['go version go1.26.8 linux/amd64\n', '1.26.8'],
      ruby: ['ruby 3.1.2p20 (2022-04-12 revision 4491bb740a) [x86_64-linux-gnu]\n', '3.1.2'],
      php: ['PHP 8.2.35 (cli) (built: Oct 21 2026 06:29:51) (NTS)\n', '8.2.35'],
      postgresql: ['postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)\n', '15.13'],
      mariadb: ['mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n', '10.11.19'],
      mysql: ['/usr/sbin/mysqld  Ver 8.4.6 for Linux on x86_64 (MySQL Community Server - GPL)\n', '8.4.6'],
    }
    for (const { toolchain } of [...runtimeTypes, ...databaseTypes]) {
      if (toolchain === null) continue
      const [text, version] = printed[toolchain.name]!
      assert.equal(new RegExp(toolchain.versionPattern).exec(text)?.[1], version)
    }
    assert.equal(new RegExp(runtimeTypeOf('python')!.toolchain!.versionPattern).exec('Python 2.7.18'), null)
  })
})

describe('The settings of every service', () => {
  for (const kind of serviceTypes) {
    test(`${kind.name}: defaults are valid, unknown fields are refused, and a GET answer may be sent back`, () => {
      const stored = serviceInput(kind).settings
      assert.equal(stored.enabled, true)
      assert.equal(stored.exposePort, kind.alwaysPublished)
      assert.throws(() => kind.settings.stored.parse({ ...stored, surprise: 1 }))
      assert.throws(() => kind.settings.patch.parse({ surprise: 1 }))
      for (const hostPort of [30001, null]) {
        const view = { ...(shown(kind, stored) as object), hostPort }
        assert.deepEqual(kind.settings.view.parse(view), view)
        assert.doesNotThrow(() => kind.settings.patch.parse(view))
      }
      assert.deepEqual(kind.settings.patch.parse({}), {})
    })

    test(`${kind.name}: can be told to delete its data exactly when it keeps some`, () => {
      const { patch, stored, view } = kind.settings
      assert.equal(patch.safeParse({ enabled: false, removeData: true }).success, kind.keepsData)
      for (const schema of [stored, view]) assert.ok(!('removeData' in schema.shape))
    })

    test(`${kind.name}: can be described as a JSON Schema with a text for every field`, () => {
      for (const schema of [kind.settings.stored, kind.settings.view, kind.settings.patch]) {
        const { properties } = z.toJSONSchema(schema) as { properties: Record<string, { description?: string }> }
        for (const [field, { description }] of Object.entries(properties))
          assert.ok(description, `${kind.name}.${field} has no description`)
      }
    })

    test(`${kind.name}: offers releases newest first and stores their lines`, () => checkReleases(kind))

    test(`${kind.name}: names a stored field for everything that is secret or belongs to its data`, () => {
      const fields = Object.keys(kind.settings.stored.shape)
      for (const [field] of kind.settings.secretFields) assert.ok(fields.includes(field), field)
      for (const field of kind.settings.ofData) assert.ok(fields.includes(field), field)
    })

    test(`${kind.name}: injects the variables that it says`, () => {
      assert.deepEqual(Object.keys(kind.variables(serviceInput(kind))).sort(), [...kind.injects].sort())
    })

    test(`${kind.name}: runs under its own name, on loopback, with its data where it says`, () => {
      const spec = kind.toWorkload(serviceInput(kind))
      assert.equal(spec.name, kind.name)
      assert.deepEqual(
        spec.data.map((mount) => mount.name),
        kind.keepsData ? [kind.name] : [],
      )
      for (const { name } of kind.ports) {
        const binding = spec.ports.find((port) => port.name === name)
        assert.equal(binding?.bind, '127.0.0.1', name)
        assert.equal(binding?.port, binding?.hostPort, name)
      }
    })
  }
})

describe('The releases of every database', () => {
  for (const kind of databaseTypes) {
    test(`${kind.name}: are offered newest first, and their lines are stored`, () => checkReleases(kind))
  }
})
