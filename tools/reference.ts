import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { routesSource } from '@stackquay/client/generate-routes'
import { openapiText } from '@stackquay/contract/openapi'
import { manifestSchema } from '@stackquay/domain/manifest-schema'
import { apiReference } from './reference/api.ts'
import { catalogueReference } from './reference/catalogue.ts'
import { configurationReference } from './reference/configuration.ts'
import { mcpReference } from './reference/mcp.ts'
import { problemReference } from './reference/problems.ts'
import { read, root } from './repository.ts'

/** Everything in the repository that is written by a program: path → text. A test compares; `npm run check -- --fix` writes. */
export function generatedFiles(): Readonly<Record<string, string>> {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  return {
    'openapi.json': openapiText(version),
    'docs/api.md': formatted('docs/api.md', apiReference()),
    'docs/catalogue.md': formatted('docs/catalogue.md', catalogueReference()),
    'docs/configuration.md': formatted('docs/configuration.md', configurationReference()),
    'docs/mcp-tools.md': formatted('docs/mcp-tools.md', mcpReference()),
    'docs/problems.md': formatted('docs/problems.md', problemReference()),
    'packages/client/src/routes.ts': routesSource(),
    'stackquay.schema.json': `${JSON.stringify(manifestSchema(), null, 2)}\n`,
  }
}

/** As the formatter would leave it; otherwise the formatter and the generator would undo each other's work. */
function formatted(path: string, text: string): string {
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome')
  const result = spawnSync(process.execPath, [biome, 'format', `--stdin-file-path=${path}`], {
    cwd: root,
    input: text,
    encoding: 'utf8',
    maxBuffer: 16 << 20,
  })
  if (result.status !== 0) throw new Error(`${path} cannot be formatted: ${result.stderr}`)
  return result.stdout
}

/** Paths of generated files that differ from what they should be, or are not there. */
export function staleFiles(): readonly string[] {
  return Object.entries(generatedFiles())
    .filter(([path, text]) => textOf(path) !== text)
    .map(([path]) => path)
}

function textOf(path: string): string | undefined {
  try {
    return read(path)
  } catch {
    return undefined
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = generatedFiles()
  for (const path of staleFiles()) {
    if (process.argv.includes('--write')) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), files[path]!)
      console.log(`wrote ${path}`)
    } else {
      console.log(`${path} is stale`)
      process.exitCode = 1
    }
  }
}
