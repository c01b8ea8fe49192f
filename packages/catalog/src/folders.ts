import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Template } from './templates/template.ts'

/**
 * Where the catalogue's own files are. For Node alone: it is not part of the package's index, which the web page bundles too.
 */

/** A program that workloads run with our Node, alone in its folder with the modules it imports. */
interface Program {
  readonly file: string
  /** Packages it imports. They are copied beside it with all they depend on, so they must be plain JavaScript. */
  readonly packages: readonly string[]
}

/** By the name that `RuntimeInput.ourProgram` and `ServiceInput.ourProgram` take. */
const programs: Readonly<Record<string, Program>> = {
  'static-server': { file: './runtimes/static/static-server.ts', packages: [] },
  'test-output': { file: './suites/test-output/test-output.ts', packages: [] },
  'go-watch': { file: './runtimes/go/go-watch.ts', packages: [] },
  'search-auth-proxy': { file: './services/opensearch/auth-proxy/search-auth-proxy.ts', packages: [] },
  'mail-catcher': {
    file: './services/mailpit/catcher/mail-catcher.ts',
    packages: ['smtp-server', 'mailparser', 'tar-stream'],
  },
  'postgresql-backup': { file: './databases/postgresql/backup/postgresql-backup.ts', packages: ['pg', 'tar-stream'] },
  'object-storage': { file: './services/storage/server/object-storage.ts', packages: ['tar-stream'] },
  'service-backup': { file: './service-backup/service-backup.ts', packages: [] },
}

export const programNames: readonly string[] = Object.keys(programs)

/** Absolute path of a built-in program. Throws for an unknown name: the catalogue itself would be wrong. */
export function programFile(name: string): string {
  return fileURLToPath(new URL(programOf(name).file, import.meta.url))
}

export function programPackages(name: string): readonly string[] {
  return programOf(name).packages
}

function programOf(name: string): Program {
  const program = programs[name]
  if (program === undefined) throw new Error(`The catalogue has no program "${name}".`)
  return program
}

/** Absolute path of the folder whose content a new project of this template begins with. */
export function templateFolder(template: Template): string {
  const base = template.folder.startsWith('examples/') ? '../../../' : './templates/'
  const folder = fileURLToPath(new URL(`${base}${template.folder}`, import.meta.url))
  if (!existsSync(folder)) throw new Error(`The files of the template "${template.name}" are missing: ${folder}`)
  return folder
}
