import { FilesError, type ProjectFiles } from '@stackquay/engines'

/** The project file's name, at the top of a source tree. */
export const manifestName = 'stackquay.yml'

/** Its text, or null when there is none. A link is not followed: it may lead out of the source. */
export async function readManifest(files: ProjectFiles, folder: string): Promise<string | null> {
  try {
    return (await files.read({ root: folder, path: manifestName, maxBytes: 200_000 })).toString('utf8')
  } catch (error) {
    if (error instanceof FilesError && isNone.has(error.code)) return null
    throw error
  }
}

const isNone: ReadonlySet<FilesError['code']> = new Set([
  'missing',
  'outside',
  'not_a_file',
  'not_a_folder',
  'denied',
  'too_large',
])
