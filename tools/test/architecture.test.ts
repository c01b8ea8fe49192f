import assert from 'node:assert/strict'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { databaseTypes, runtimeTypes, serviceTypes } from '@stackquay/catalog'
import { engineNames } from '@stackquay/contract'
import { engineKinds } from '@stackquay/engines'
import { fileAccess, foldersWithoutFileAccess } from '../file-access.ts'
import { circles, folderGraph, importGraph, type Source, wayRound } from '../import-graph.ts'
import { filesBelow, importsOf, isOurCode, read, root, type Workspace, workspaces } from '../repository.ts'
import {
  isMeasured,
  knownLongFiles,
  knownLongFunctions,
  mostFileLines,
  mostFunctionLines,
  tooLongFiles,
  tooLongFunctions,
} from '../sizes.ts'

/** Who may import whom. A new line here is a decision: see ARCHITECTURE.md. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  acme: [],
  archive: [],
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
  targets: [],
  testkit: [],
  web: ['client', 'contract'],
  cli: ['client', 'contract'],
  server: [
    'acme',
    'archive',
    'catalog',
    'contract',
    'domain',
    'engine-api',
    'engines',
    'mcp',
    'orchestrator',
    'proxy',
    'store',
    'targets',
  ],
}

const scope = '@stackquay/'

/**
 * Folders that still need each other in a circle. A new member is a fault: put what is shared where both may take it from.
 */
const foldersInACircle: readonly string[] = []

/** Names of kinds that stand outside their folder, and why they may. */
const kindNameExceptions: readonly { readonly file: string; readonly name: string; readonly why: string }[] = [
  { file: 'apps/server/src/bundled.ts', name: 'node', why: 'the Node that runs the service is offered as a toolchain' },
  { file: 'apps/server/src/bundled.ts', name: 'postgres', why: 'file name of the program in the npm package' },
  { file: 'apps/server/src/bundled.ts', name: 'postgresql', why: 'the embedded server is offered as a toolchain' },
  {
    file: 'apps/server/src/catalogue/catalogue.ts',
    name: 'node',
    why: 'programs of ours run with the Node that came along',
  },
  { file: 'apps/server/src/system/diagnostics.ts', name: 'storage', why: 'a category of checks: disk and database' },
  { file: 'apps/server/src/system/metrics-check.ts', name: 'storage', why: 'the same category' },
  { file: 'apps/server/src/system/disk-check.ts', name: 'storage', why: 'a category of checks: disk and database' },
  { file: 'apps/server/src/system/schedules-check.ts', name: 'storage', why: 'the same category' },
  { file: 'apps/server/src/system/trash-check.ts', name: 'storage', why: 'the same category' },
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
  'packages/mcp/src',
]

/** Engines that are still to be written, so that nobody prepares for them by their name. */
const plannedEngines = ['swarm']
/** Names of engines that stand outside their folder, and why they may. */
const engineNameExceptions: readonly { readonly file: string; readonly name: string; readonly why: string }[] = [
  { file: 'packages/contract/src/schemas/project.ts', name: 'native', why: 'the one list, and a text for people' },
  { file: 'packages/contract/src/schemas/project.ts', name: 'docker', why: 'the one list, and a text for people' },
  { file: 'packages/contract/src/openapi/examples.ts', name: 'native', why: 'examples for people' },
  { file: 'packages/contract/src/openapi/examples.ts', name: 'docker', why: 'examples for people' },
  { file: 'packages/catalog/src/addons/addon.ts', name: 'native', why: 'a key of the file of an addon' },
  { file: 'packages/contract/src/openapi/field-texts.ts', name: 'native', why: 'a text for people' },
  { file: 'packages/contract/src/openapi/field-texts.ts', name: 'docker', why: 'a text for people' },
  { file: 'apps/server/src/environment.ts', name: 'native', why: 'a text for people: what STACKQUAY_ENGINE means' },
  { file: 'apps/server/src/environment.ts', name: 'docker', why: 'a text for people: what STACKQUAY_ENGINE means' },
  { file: 'apps/server/src/bundled.ts', name: 'native', why: 'a folder of the npm package of PostgreSQL' },
  { file: 'apps/cli/src/options.ts', name: 'native', why: 'the list without schemas; the compiler holds it complete' },
  { file: 'apps/cli/src/options.ts', name: 'docker', why: 'the list without schemas; the compiler holds it complete' },
  { file: 'apps/web/src/lib/engines.ts', name: 'native', why: 'what the page offers on each; held complete by types' },
  { file: 'apps/web/src/lib/engines.ts', name: 'docker', why: 'what the page offers on each; held complete by types' },
  { file: 'apps/web/src/texts/en.ts', name: 'native', why: 'texts for people' },
  { file: 'apps/web/src/texts/en.ts', name: 'docker', why: 'texts for people' },
  {
    file: 'packages/store/src/migrations/0006-engines.ts',
    name: 'native',
    why: 'what projects of the time before there was a choice are on; a migration never changes',
  },
]
const foldersWithoutEngineNames = [
  ...foldersWithoutKindNames,
  'packages/catalog/src',
  'packages/engine-api/src',
  'packages/engines/src',
]

test('every workspace stands in the table of who may import whom, and nothing else does', () => {
  const names = workspaces().map(({ name }) => name)
  assert.deepEqual(Object.keys(mayImport).sort(), names.sort())
  assert.deepEqual(
    Object.values(mayImport)
      .flat()
      .filter((name) => !names.includes(name)),
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

test('no file imports itself through others; where only types are imported, files of one folder may know each other', () => {
  const values = importGraph(sources(), workspaces(), 'value')
  assert.deepEqual(
    circles(values).map((group) => wayRound(values, group).join(' → ')),
    [],
    'put what both need into a file that needs neither, or hand it in',
  )
  const all = importGraph(sources(), workspaces(), 'all')
  assert.deepEqual(
    circles(all)
      .filter((group) => new Set(group.map((file) => dirname(file))).size > 1)
      .map((group) => wayRound(all, group).join(' → ')),
    [],
    'put the type into the file that the others already need',
  )
})

test('folders beside each other need each other in one direction', () => {
  const found = circles(folderGraph(importGraph(sources(), workspaces(), 'all'))).flat()
  assert.deepEqual(
    found.filter((folder) => !foldersInACircle.includes(folder)),
    [],
    'these folders need each other in a circle',
  )
  assert.deepEqual(
    foldersInACircle.filter((folder) => !found.includes(folder)),
    [],
    'these are in no circle any more: take them from the list',
  )
})

test('no file and no function becomes too long, and those that are do not grow', () => {
  const measured = sources().filter(({ path }) => isMeasured(path))
  const lists = [
    { what: `more than ${mostFileLines} lines`, found: tooLongFiles(measured), known: knownLongFiles },
    { what: `more than ${mostFunctionLines} lines`, found: tooLongFunctions(measured), known: knownLongFunctions },
  ]
  for (const { what, found, known } of lists) {
    assert.deepEqual(
      [...found]
        .filter(([name, lines]) => lines > (known[name] ?? 0))
        .map(([name, lines]) => `${name}: ${lines} lines${known[name] === undefined ? '' : `, was ${known[name]}`}`),
      [],
      `${what}: divide it by what its parts are about`,
    )
    assert.deepEqual(
      Object.keys(known).filter((name) => !found.has(name)),
      [],
      `these have no ${what} any more: take them from the list in tools/sizes.ts`,
    )
  }
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
    [...runtimeTypes, ...serviceTypes, ...databaseTypes].flatMap((kind) => [
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

test('no kind of notification channel is called by its name outside its folder', () => {
  const folder = 'apps/server/src/notifications/channels'
  const kinds = new Set(
    filesBelow(folder).flatMap((file) => file.slice(folder.length + 1).match(/^([^/]+)\//)?.[1] ?? []),
  )
  assert.ok(kinds.size >= 8)
  const others = ['apps/server/src/notifications', 'apps/web/src/pages/notifications', 'apps/cli/src/notify']
  const wrong = others
    .flatMap((one) => filesBelow(one))
    .filter((file) => isOurCode(file) && !file.startsWith(folder))
    .flatMap((file) =>
      [...read(file).matchAll(/'([a-z]+)'/g)]
        .filter(([, word]) => kinds.has(word!))
        .map(([word]) => `${file} says ${word}`),
    )
  assert.deepEqual(wrong, [])
})

test('each engine is a folder, a line in the list of those that can be opened, and a name that projects can use', () => {
  const files = filesBelow('packages/engines/src')
  const folders = files.flatMap((file) => file.match(/^packages\/engines\/src\/([^/]+)\/kind\.ts$/)?.[1] ?? [])
  assert.deepEqual(engineKinds.map(({ id }) => id).sort(), folders.sort())
  assert.deepEqual([...engineNames].sort(), folders.sort())
})

test('no engine is called by its name outside its folder', () => {
  const names: ReadonlySet<string> = new Set([...engineNames, ...plannedEngines])
  const said = foldersWithoutEngineNames
    .flatMap(filesBelow)
    .filter(isOurCode)
    .filter((file) => !names.has(file.match(/^packages\/engines\/src\/([^/]+)\//)?.[1] ?? ''))
    .flatMap((file) =>
      withoutComments(read(file)).flatMap((line, index) =>
        // In quotes, in the back-quotes of a text, or as a key.
        [...line.matchAll(/(['"`])([a-z][a-z0-9-]*)\1|(?<=^\s*|[{,]\s*)([a-z][a-z0-9]*)(?=\??:)/g)]
          .map((match) => match[2] ?? match[3]!)
          .filter((name) => names.has(name))
          .map((name) => ({ file, name, line: index + 1 })),
      ),
    )
  const isException = (one: { readonly file: string; readonly name: string }) =>
    engineNameExceptions.some(({ file, name }) => file === one.file && name === one.name)
  assert.deepEqual(
    said.filter((one) => !isException(one)).map(({ file, name, line }) => `${file}:${line} says '${name}'`),
    [],
    'ask the capabilities of the project’s own engine instead, or add an exception with its reason',
  )
  assert.deepEqual(
    engineNameExceptions.filter(({ file, name }) => !said.some((one) => one.file === file && one.name === name)),
    [],
    'these are not needed any more: take them from the list',
  )
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

/** Our programs without their tests. */
function sources(): readonly Source[] {
  return filesBelow()
    .filter(
      (file) =>
        /^((apps|packages)\/[^/]+\/src|tools)\//.test(file) && !file.startsWith('tools/test/') && isOurCode(file),
    )
    .map((path) => ({ path, text: read(path) }))
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
