import { posix } from 'node:path'
import { EngineError } from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import { DEFAULT_PATH } from '../native/path.ts'
import { modeInside } from './archive.ts'

export interface PlacedProgram {
  readonly file: string
  readonly cwd: string
  /** As the image names itself to people. */
  readonly image: string
  /** `NAME=value`; of several of one name the last counts. */
  readonly env: readonly string[]
}

/** What its init process would only report by an exit code, and Docker by making the folder that is missing, as root. */
export async function checkPlaced(made: Dockerode.Container, program: PlacedProgram): Promise<void> {
  await Promise.all([checkFolder(made, program.cwd), checkProgram(made, program)])
}

async function checkFolder(made: Dockerode.Container, cwd: string): Promise<void> {
  const mode = await modeInside(made, cwd)
  // A link may lead to a folder.
  if (mode !== null && mode.kind !== 'file') return
  const why = mode === null ? 'does not exist' : 'is a file'
  throw new EngineError('io_failed', `The working directory ${cwd} ${why}.`, {
    hint: 'Check the path of the project.',
  })
}

async function checkProgram(made: Dockerode.Container, { file, image, env }: PlacedProgram): Promise<void> {
  if (file !== '' && !file.includes('/')) return checkName(made, file, image, searchPath(env))
  if (!file.startsWith('/')) {
    throw notFound(
      `The program ${JSON.stringify(file)} is given by a path that is not absolute.`,
      'Name it by its full path, or by its name alone.',
    )
  }
  const mode = await modeInside(made, file)
  if (mode === null)
    throw notFound(`The program ${file} does not exist in the image ${image}.`, 'Choose another image.')
  if (!isProgram(mode))
    throw notFound(`${file} is not a program in the image ${image}.`, `Make it executable: chmod a+rx ${file}`)
}

/** As `execvp` does: the first folder with a program of that name. */
async function checkName(made: Dockerode.Container, name: string, image: string, path: string): Promise<void> {
  const folders = path.split(':').filter((folder) => folder.startsWith('/'))
  for (const folder of folders) {
    const mode = await modeInside(made, posix.join(folder, name))
    if (mode !== null && isProgram(mode)) return
  }
  throw notFound(
    `There is no program "${name}" in the image ${image}, whose PATH is ${path}.`,
    'Name it by its full path, set PATH, or choose another image.',
  )
}

export function searchPath(env: readonly string[]): string {
  const last = env.findLast((entry) => entry.startsWith('PATH='))
  return last?.slice('PATH='.length) ?? DEFAULT_PATH
}

/** The start finds out where a link leads. */
function isProgram({ kind, bits }: { readonly kind: string; readonly bits: number }): boolean {
  return kind === 'other' || (kind === 'file' && (bits & 0o111) !== 0)
}

function notFound(message: string, hint: string): EngineError {
  return new EngineError('program_not_found', message, { hint })
}
