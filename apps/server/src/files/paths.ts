import { ProblemError } from '@stackquay/contract'
import { newNameBlocker, readFilePath } from '@stackquay/domain'
import { FilesError } from '@stackquay/engines'
import { filesProblem } from '../http/files-problem.ts'

/** A path as the process of SFTP takes it: bytes in latin1, and never mistaken for a path of the machine. */
export function sftpPath(names: readonly string[]): string {
  return Buffer.from(`/./${names.join('/')}`).toString('latin1')
}

/** The names of a path that somebody sent. `pointer`: where it stands in the request. */
export function pathOf(text: string, pointer: string): readonly string[] {
  const path = readFilePath(text)
  if (path.ok) return path.names
  throw badPath(pointer, path.why)
}

/** The same of something below the folder of the project. */
export function placeOf(text: string, pointer: string): readonly string[] {
  const names = pathOf(text, pointer)
  if (names.length === 0) throw badPath(pointer, 'It is the folder of the project itself.')
  return names
}

/** The same of something that is to be made. */
export function newPlaceOf(text: string, pointer: string): readonly string[] {
  const names = placeOf(text, pointer)
  const blocker = newNameBlocker(names.at(-1)!)
  if (blocker !== null) throw badPath(pointer, blocker)
  return names
}

function badPath(pointer: string, detail: string): ProblemError {
  const code = pointer.startsWith('?') ? 'invalid_request' : 'validation_failed'
  return new ProblemError(code, detail, { errors: [{ pointer, code: 'path', detail }] })
}

/** What the system says of one file, for the person who asked. */
export function problemOf(error: unknown, names: readonly string[]): unknown {
  if (!(error instanceof FilesError)) return error
  const path = names.join('/')
  const cause = { cause: error }
  switch (error.code) {
    case 'missing':
      return new ProblemError('not_found', `There is no "${path}" in the project.`, {
        hint: 'Look at the folder again.',
        ...cause,
      })
    case 'not_a_folder':
      return new ProblemError('not_found', `A part of "${path}" is no folder.`, {
        hint: 'Look at the folder again.',
        ...cause,
      })
    case 'exists':
      return new ProblemError('conflict', `There is something named "${path}" already.`, {
        hint: 'Choose another name, or delete that first.',
        ...cause,
      })
    case 'denied':
    case 'outside':
      return new ProblemError(
        'path_forbidden',
        `"${path}" cannot be used: its rights forbid it, or a link leads out of the project.`,
        { hint: 'Look at its rights and at the links on its way.', ...cause },
      )
    case 'not_a_file':
      return notOrdinary(path)
    case 'changed':
      return new ProblemError('unavailable', `"${path}" became another file at this moment.`, {
        hint: 'Try again.',
        ...cause,
      })
    default:
      return filesProblem(error)
  }
}

export function notOrdinary(path: string): ProblemError {
  return new ProblemError('path_forbidden', `"${path}" is no ordinary file.`, {
    hint: 'Folders, pipes and devices have no content to read or write.',
  })
}

/** The same of what comes piece by piece: what became another thing before its first byte is told with a status of its own. */
export async function* asProblemsOf(
  names: readonly string[],
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* content
  } catch (error) {
    throw problemOf(error, names)
  }
}

export async function asProblemOf<T>(names: readonly string[], work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw problemOf(error, names)
  })
}
