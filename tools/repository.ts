import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../', import.meta.url)).replace(/\/$/, '')

const notOurs = new Set(['node_modules', 'dist', '.git', '.cache', '.stackquay', 'coverage'])

/** Files of the repository below a folder, relative to the root, in a stable order. Links are not followed. */
export function filesBelow(folder = ''): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => !notOurs.has(entry.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) return filesBelow(path)
      return entry.isFile() ? [path] : []
    })
}

export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

export interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export interface Workspace {
  /** `packages/domain`. */
  readonly folder: string
  /** `domain`. */
  readonly name: string
  readonly manifest: Manifest
}

export function workspaces(): readonly Workspace[] {
  return ['apps', 'packages'].flatMap((parent) =>
    readdirSync(join(root, parent))
      .sort()
      .map((name) => ({
        folder: `${parent}/${name}`,
        name,
        manifest: JSON.parse(read(`${parent}/${name}/package.json`)) as Manifest,
      })),
  )
}

/** Source files that are programs of ours: neither the files of project templates nor the examples. */
export function isOurCode(path: string): boolean {
  return /\.(ts|tsx|mjs)$/.test(path) && !/(^|\/)templates\/[^/]+\/files\//.test(path) && !path.startsWith('examples/')
}

/** Module names that a source file imports, `import type` and `import()` too. */
export function importsOf(text: string): readonly string[] {
  return importedBy(text).map(({ module }) => module)
}

export interface Import {
  readonly module: string
  /** True when Node does not load the module for it: only types are taken, or only its place on disk is asked for. */
  readonly typeOnly: boolean
}

/** Everything that a source file imports. A lazy `import()` is an import like any other. */
export function importedBy(text: string): readonly Import[] {
  const pattern =
    /^\s*(?:import|export)\b([^'"`;]*?)\bfrom\s*'([^']+)'|^\s*import\s*'([^']+)'|(typeof\s+)?\bimport\(\s*'([^']+)'\s*\)|\bimport\.meta\.resolve\(\s*'([^']+)'\s*\)/gm
  return [...text.matchAll(pattern)].map(([, clause, from, forEffect, ofType, lazy, place]) => ({
    module: (from ?? forEffect ?? lazy ?? place)!,
    typeOnly: clause === undefined ? ofType !== undefined || place !== undefined : takesTypesOnly(clause),
  }))
}

/** The words between `import` and `from`: ` type { A } `, ` { type A, type B } `. */
function takesTypesOnly(clause: string): boolean {
  if (/^\s+type\s+[\w{*]/.test(clause)) return true
  const braces = /^\s*\{([^}]*)\}\s*$/.exec(clause)
  const names = (braces?.[1] ?? '').split(',').filter((name) => name.trim() !== '')
  return names.length > 0 && names.every((name) => /^\s*type\s/.test(name))
}
