import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Template } from './templates/template.ts'

/**
 * Where the catalogue's own files are. For Node alone: it is not part of the package's index, which the web page bundles too.
 */

/** Programs that workloads run with our Node, by the name that `RuntimeInput.ourProgram` takes. */
const programs: Readonly<Record<string, string>> = {
  'static-server': './runtimes/static/static-server.ts',
  'go-watch': './runtimes/go/go-watch.ts',
}

/** Absolute path of a program of ours. Throws for a name that there is not: the catalogue itself would be wrong. */
export function programFile(name: string): string {
  const file = programs[name]
  if (file === undefined) throw new Error(`The catalogue has no program "${name}".`)
  return fileURLToPath(new URL(file, import.meta.url))
}

/** Absolute path of the folder whose content a new project of this template begins with. */
export function templateFolder(template: Template): string {
  const base = template.folder.startsWith('examples/') ? '../../../' : './templates/'
  const folder = fileURLToPath(new URL(`${base}${template.folder}`, import.meta.url))
  if (!existsSync(folder)) throw new Error(`The files of the template "${template.name}" are missing: ${folder}`)
  return folder
}
