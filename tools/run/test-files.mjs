import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './places.mjs'

/** Every test file, relative to the repository, in a stable order. */
export function allTestFiles() {
  const folders = [...membersOf('packages'), ...membersOf('apps')].map((member) => `${member}/test`)
  return [...folders, 'tools/test', 'bench/test', 'e2e'].flatMap(testsBelow)
}

function membersOf(folder) {
  return readdirSync(join(root, folder))
    .sort()
    .map((name) => `${folder}/${name}`)
}

function testsBelow(folder) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : testsBelow(path)
      return /\.test\.tsx?$/.test(entry.name) ? [path] : []
    })
}
