import assert from 'node:assert/strict'
import { homedir } from 'node:os'
import { test } from 'node:test'
import { databaseKinds, runtimeKinds, serviceKinds } from '@stackquay/catalog'
import { fileAccess, foldersWithoutFileAccess } from '../file-access.ts'
import { filesBelow, importsOf, isOurCode, read, root, type Workspace, workspaces } from '../repository.ts'

/** Who may import whom. A new line here is a decision: see ARCHITECTURE.md. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'engine-api': [],
  catalog: ['engine-api'],
  contract: ['catalog'],
  domain: ['contract', 'catalog', 'engine-api'],
  engines: ['engine-api'],
  orchestrator: ['domain', 'engine-api'],
  store: ['contract', 'domain'],
  client: ['contract'],
  mcp: ['contract'],
  proxy: [],
  testkit: [],
  web: ['client', 'contract'],
  cli: ['client', 'contract', 'mcp'],
  server: ['catalog', 'contract', 'domain', 'engine-api', 'engines', 'mcp', 'orchestrator', 'proxy', 'store'],
}

const scope = '@stackquay/'

/** Names of kinds that stand outside their folder, and why they may. */
const kindNameExceptions: readonly { readonly file: string; readonly name: string; readonly why: string }[] = [
  { file: 'apps/server/src/bundled.ts', name: 'node', why: 'the Node that runs the service is offered as a toolchain' },
  { file: 'apps/server/src/bundled.ts', name: 'postgres', why: 'file name of the program in the npm package' },
  { file: 'apps/server/src/bundled.ts', name: 'postgresql', why: 'the embedded server is offered as a toolchain' },
  {
    file: 'apps/server/src/projects/catalogue.ts',
    name: 'node',
    why: 'programs of ours run with the Node that came along',
  },
  { file: 'apps/server/src/system/diagnostics.ts', name: 'storage', why: 'a category of checks: disk and database' },
  { file: 'packages/contract/src/schemas/system.ts', name: 'storage', why: 'the same category' },
  ...['node', 'postgresql', 'redis'].map((name) => ({
    file: 'packages/contract/src/openapi/examples.ts',
    name,
    why: 'an example of an answer',
  })),
  { file: 'apps/cli/src/commands/api.ts', name: 'node', why: 'an example in the help text' },
  {
    file: 'apps/cli/src/commands/db/create.ts',
    name: 'postgresql',
    why: 'what "stq db create" makes when no type is named',
  },
]
const foldersWithoutKindNames = [
  'apps/server/src',
  'apps/proxy/src',
  'apps/cli/src',
  'apps/web/src',
  'packages/domain/src',
  'packages/orchestrator/src',
  'packages/store/src',
  'packages/client/src',
  'packages/contract/src',
]

test('every workspace stands in the table of who may import whom', () => {
  assert.deepEqual(
    workspaces()
      .map(({ name }) => name)
      .filter((name) => !(name in mayImport)),
    [],
  )
})

test('the table has no circle', () => {
  const visit = (name: string, above: readonly string[]): void => {
    assert.ok(!above.includes(name), [...above, name].join(' → '))
    for (const other of mayImport[name] ?? []) visit(other, [...above, name])
  }
  for (const name of Object.keys(mayImport)) visit(name, [])
})

test('sources import only what the table allows', () => {
  const wrong = workspaces().flatMap((workspace) =>
    importsIn(workspace, 'src')
      .filter(({ module }) => module.startsWith(scope))
      .map(({ file, module }) => ({ file, other: module.slice(scope.length).split('/')[0]! }))
      .filter(({ other }) => other !== workspace.name && !(mayImport[workspace.name] ?? []).includes(other))
      .map(
        ({ file, other }) =>
          `${file} imports ${other}; ${workspace.name} may import ${mayImport[workspace.name]?.join(', ') || 'no other workspace'}`,
      ),
  )
  assert.deepEqual(wrong, [])
})

test('a package.json depends only on workspaces that the table allows', () => {
  const wrong = workspaces().flatMap(({ name, manifest }) =>
    Object.keys(manifest.dependencies ?? {})
      .filter(
        (dependency) =>
          dependency.startsWith(scope) && !(mayImport[name] ?? []).includes(dependency.slice(scope.length)),
      )
      .map((dependency) => `${name} depends on ${dependency}`),
  )
  assert.deepEqual(wrong, [])
})

test('what sources import stands in the package.json of their workspace', () => {
  const wrong = workspaces().flatMap((workspace) => {
    const { dependencies = {}, optionalDependencies = {}, devDependencies = {} } = workspace.manifest
    const declared = {
      ...dependencies,
      ...optionalDependencies,
      ...(workspace.name === 'web' ? devDependencies : {}),
      [workspace.manifest.name]: '',
    }
    return importsIn(workspace, 'src')
      .filter(({ module }) => !/^[./]|^node:/.test(module))
      .map(({ file, module }) => ({
        file,
        dependency: module
          .split('/')
          .slice(0, module.startsWith('@') ? 2 : 1)
          .join('/'),
      }))
      .filter(({ dependency }) => !(dependency in declared))
      .map(
        ({ file, dependency }) => `${file} imports ${dependency}, which ${workspace.folder}/package.json does not name`,
      )
  })
  assert.deepEqual([...new Set(wrong)], [])
})

test('no workspace reaches into the folder of another', () => {
  const wrong = workspaces().flatMap((workspace) =>
    [...importsIn(workspace, 'src'), ...importsIn(workspace, 'test')]
      .filter(
        ({ file, module }) => module.startsWith('.') && !resolved(file, module).startsWith(`${workspace.folder}/`),
      )
      .map(({ file, module }) => `${file} imports ${module}`),
  )
  assert.deepEqual(wrong, [])
})

test('relative imports end with the file’s real ending', () => {
  const wrong = filesBelow()
    .filter(isOurCode)
    .flatMap((file) => importsOf(read(file)).map((module) => ({ file, module })))
    .filter(({ module }) => module.startsWith('.') && !/\.(tsx?|mjs|css|json|svg)(\?\w+)?$/.test(module))
    .map(({ file, module }) => `${file} imports ${module}`)
  assert.deepEqual(wrong, [])
})

test('no runtime, service or database is called by its name outside its folder', () => {
  const names = new Set(
    [...runtimeKinds, ...serviceKinds, ...databaseKinds].flatMap((kind) => [
      kind.name,
      ...('aliases' in kind ? kind.aliases : []),
    ]),
  )
  const wrong = foldersWithoutKindNames
    .flatMap(filesBelow)
    .filter(isOurCode)
    .flatMap((file) =>
      withoutComments(read(file)).flatMap((line, index) =>
        [...line.matchAll(/(['"`])([a-z][a-z0-9-]*)\1/g)]
          .map((match) => match[2]!)
          .filter(
            (word) =>
              names.has(word) &&
              !kindNameExceptions.some((exception) => exception.file === file && exception.name === word),
          )
          .map((word) => `${file}:${index + 1} says '${word}'`),
      ),
    )
  assert.deepEqual(wrong, [], 'ask the kind’s descriptor instead, or add an exception with its reason')
})

test('only listed files use node:fs, each in folders of our own: root touches nothing by path in a tree that a project can write', () => {
  const listed = fileAccess.map(({ path }) => path)
  const covers = (path: string, file: string) => (path.endsWith('/') ? file.startsWith(path) : file === path)
  const users = foldersWithoutFileAccess
    .flatMap(filesBelow)
    .filter(isOurCode)
    .filter((file) => importsOf(read(file)).some((module) => /^(node:)?fs(\/promises)?$/.test(module)))
  assert.deepEqual(
    users.filter((file) => !listed.some((path) => covers(path, file))),
    [],
    'use ProjectFiles of @stackquay/engines, or say in tools/file-access.ts which of our own folders the file works in',
  )
  assert.deepEqual(
    listed.filter((path) => !users.some((file) => covers(path, file))),
    [],
    'these use no files any more: take them from the list',
  )
  assert.equal(new Set(listed).size, listed.length)
})

test('no file names this machine’s folders', () => {
  const homes = [root, homedir()].filter((path) => path.split('/').length > 2)
  const wrong = textFiles().filter((file) => homes.some((home) => read(file).includes(`${home}/`)))
  assert.deepEqual(wrong, [])
})

test('no file names the host of a package registry', () => {
  const hosts =
    /\b(registry\.npmjs\.org|registry\.yarnpkg\.com|pypi\.org|files\.pythonhosted\.org|rubygems\.org|proxy\.golang\.org|packagist\.org|deb\.debian\.org|registry-1\.docker\.io)\b/
  const wrong = textFiles().filter((file) => file !== 'tools/test/architecture.test.ts' && hosts.test(read(file)))
  assert.deepEqual(wrong, [])
})

test('the lock file has a hash for every package, names no host, and agrees with every package.json', () => {
  const text = read('package-lock.json')
  assert.ok(!text.includes('"resolved": "http'), 'set omit-lockfile-registry-resolved')
  const { packages } = JSON.parse(text) as { packages: Record<string, LockEntry> }
  const bare = Object.entries(packages).filter(
    ([path, entry]) =>
      path.includes('node_modules/') && entry.link !== true && entry.inBundle !== true && entry.integrity === undefined,
  )
  assert.deepEqual(
    bare.map(([path]) => path),
    [],
  )
  for (const { folder, manifest } of [
    ...workspaces(),
    { folder: '', manifest: JSON.parse(read('package.json')) as Workspace['manifest'] },
  ]) {
    for (const field of ['dependencies', 'devDependencies', 'optionalDependencies'] as const) {
      assert.deepEqual(
        packages[folder]?.[field] ?? {},
        manifest[field] ?? {},
        `${field} of ${folder || 'the root'}: run "npm install"`,
      )
    }
  }
})

test('dependencies are named with their exact version', () => {
  const wrong = workspaces().flatMap(({ folder, manifest }) =>
    Object.entries({ ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies })
      .filter(([name, version]) =>
        name.startsWith(scope) ? version !== '*' : !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
      )
      .map(([name, version]) => `${folder}: ${name} ${version}`),
  )
  assert.deepEqual(wrong, [])
})

interface LockEntry {
  readonly link?: boolean
  readonly inBundle?: boolean
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

function importsIn({ folder }: Workspace, part: 'src' | 'test') {
  const files = filesBelow(folder).filter((file) => file.startsWith(`${folder}/${part}/`) && isOurCode(file))
  return files.flatMap((file) => importsOf(read(file)).map((module) => ({ file, module })))
}

function resolved(file: string, module: string): string {
  return new URL(module, `file:///${file}`).pathname.slice(1)
}

/** Lines, with comments emptied: a comment may call things by their names. */
function withoutComments(text: string): readonly string[] {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ''))
    .split('\n')
    .map((line) => line.replace(/^\s*\/\/.*|\s\/\/ .*/, ''))
}

function textFiles(): readonly string[] {
  return filesBelow().filter((file) =>
    /\.(ts|tsx|mjs|js|json|md|yml|yaml|css|html|sh|toml|txt)$|(^|\/)\.(ci\/run|npmrc|gitignore)$|\/bin\/[^/.]+$/.test(
      file,
    ),
  )
}
