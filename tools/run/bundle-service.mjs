// `node bundle-service.mjs <folder>`: the service and what it imports as few files (docs/decisions/0046). Runs on the Node of this workspace.
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { parseAst } from 'rolldown/parseAst'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = process.argv[2]
const entry = join(root, 'apps/server/src/main.ts')

/** Our own packages, and of others those that are many files and of which little is used. The rest is loaded from where it is installed. */
const bundled = /^(?:@stackquay\/|zod(?:\/|$)|kysely(?:\/|$))/

const bundle = await rolldown({
  input: { main: entry },
  platform: 'node',
  plugins: [{ name: 'stackquay', resolveId, transform }],
  onLog: (level, log) => {
    if (level === 'warn') throw new Error(log.message)
  },
})
await bundle.write({
  dir: folder,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  comments: false,
  // Comments go, names and lines stay: what a stack trace says can be read, and found. V8 keeps the text of a file for as long as it runs, with two
  // bytes for each character when a single one is beyond Latin-1.
  minify: { mangle: false, compress: true, codegen: { removeWhitespace: false, asciiOnly: true } },
})

/** A package stays outside when the bundle finds the same copy of it that the importing file does; another copy of it becomes part of the bundle. */
function resolveId(source, importer) {
  if (importer === undefined || /^[./\0]/.test(source) || bundled.test(source)) return null
  if (source.startsWith('node:')) return { id: source, external: true }
  const name = source.split('/', source.startsWith('@') ? 2 : 1).join('/')
  const same = installedFrom(dirname(importer), name) === installedFrom(folder, name)
  return same ? { id: source, external: true } : null
}

function installedFrom(from, name) {
  for (let at = from; ; at = dirname(at)) {
    const found = join(at, 'node_modules', name)
    if (existsSync(found)) return found
    if (at === dirname(at)) return null
  }
}

/** Files that are found beside a source (programs, templates, its package) are found there still. */
function transform(code, id) {
  if (id.startsWith('\0') || !code.includes('import.meta')) return null
  const source = `new URL(${JSON.stringify(relative(folder, id))}, import.meta.url)`
  const instead = {
    url: `${source}.href`,
    dirname: `process.getBuiltinModule('node:path').dirname(process.getBuiltinModule('node:url').fileURLToPath(${source}))`,
    main: id === entry ? 'import.meta.main' : 'false',
    // Resolves the same from every folder of the package.
    resolve: 'import.meta.resolve',
  }
  let text = code
  for (const { start, end, property } of metaProperties(
    parseAst(code, { lang: id.endsWith('.ts') ? 'ts' : 'js' }),
  ).reverse()) {
    if (!Object.hasOwn(instead, property))
      throw new Error(`${id} uses import.meta.${property}, which the build does not know.`)
    text = `${text.slice(0, start)}${instead[property]}${text.slice(end)}`
  }
  return text
}

/** `import.meta.x` in the order of the text. */
function metaProperties(node, found = []) {
  if (Array.isArray(node)) for (const each of node) metaProperties(each, found)
  else if (node !== null && typeof node === 'object') {
    if (node.type === 'MemberExpression' && node.object.type === 'MetaProperty') {
      found.push({ start: node.start, end: node.end, property: node.property.name })
    } else for (const value of Object.values(node)) metaProperties(value, found)
  }
  return found
}
