import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { ApiError } from '@stackquay/client'
import { CliError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'
import { realFolder } from './find-project.ts'
import { codeFrame } from './output/code-frame.ts'
import type { Colors } from './output/style.ts'

export interface ProjectFile {
  readonly text: string
  /** As it is shown to the person: relative to where they are. */
  readonly shownAs: string
  /** Folder of the source code: where the file lies. */
  readonly folder: string
  /** What the project is called; the folder's name when the file does not say or cannot be read. */
  readonly name: string
}

export const projectFileName = 'stackquay.yml'

export async function readProjectFile(cwd: string, file: string | undefined): Promise<ProjectFile> {
  const wanted = resolve(cwd, file ?? projectFileName)
  const path = (await isFolder(wanted)) ? join(wanted, projectFileName) : wanted
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw notReadable(path, error)
  }
  const folder = await realFolder(dirname(path))
  return { text, shownAs: relative(cwd, path) || path, folder, name: (await nameIn(text)) ?? basename(folder) }
}

/** What the service makes of a name, for finding the project; where letters are rarer than these, the name itself finds it. */
export function slugOf(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 40)
    .replace(/-$/, '')
}

/** Says where the file is wrong, when that is what the service complains about. */
export function withCodeFrames(error: unknown, file: Pick<ProjectFile, 'shownAs' | 'text'>, colors: Colors): unknown {
  if (
    !(error instanceof ApiError) ||
    error.problem.errors === undefined ||
    !error.problem.errors.some(({ line }) => line !== undefined)
  )
    return error
  const { errors, ...told } = error.problem
  // What is wrong with the body of a request is here wrong with the file that it carries.
  const isBody = told.code === 'validation_failed'
  const count = errors.length === 1 ? 'one fault' : `${errors.length} faults`
  const problem = isBody ? { ...told, title: 'The file is not valid', detail: `It has ${count}.` } : told
  const excerpt = errors.flatMap((each) => [...codeFrame(file.shownAs, file.text, each, colors).split('\n'), ''])
  return new CliError(problem.detail, {
    exitCode: exitCodes.failed,
    problem,
    excerpt: excerpt.slice(0, -1),
    ...(isBody ? { hint: 'Mend the file, then try again.' } : {}),
    cause: error,
  })
}

/** Only to find the project it belongs to: what the file means, and whether it is right, is for the service to say. */
async function nameIn(text: string): Promise<string | null> {
  const { parseDocument } = await import('yaml')
  const name: unknown = parseDocument(text, { logLevel: 'silent' }).get?.('name')
  return typeof name === 'string' && name.trim() !== '' ? name.trim() : null
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

function notReadable(path: string, error: unknown): CliError {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
    return new CliError(`There is no ${basename(path)} in ${dirname(path)}.`, {
      exitCode: exitCodes.usage,
      hint: 'Write one ("stq help project-file"), or create a project from this folder with: stq create <name> --path .',
    })
  }
  return new CliError(`${path} cannot be read: ${error instanceof Error ? error.message : error}`, {
    exitCode: exitCodes.failed,
  })
}
