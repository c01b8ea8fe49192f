export interface FilesSearch {
  /** The folder that is looked at; absent for that of the project. */
  readonly path?: string
  /** The file that is open. */
  readonly file?: string
}

export function readFilesSearch(search: Readonly<Record<string, unknown>>): FilesSearch {
  const text = (value: unknown) => (typeof value === 'string' && value !== '' && value.length <= 2000 ? value : null)
  const [path, file] = [text(search.path), text(search.file)]
  return { ...(path === null ? {} : { path }), ...(file === null ? {} : { file }) }
}

/** What an editor in a page can hold. */
export const mostEdited = 2 << 20

/** The text of a file; null when it is none: bytes that are no UTF-8, or zeros. */
export function textIn(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

/** An editor knows one kind of line end; a file gets back the one that it had. */
export function lineEndOf(text: string): '\n' | '\r\n' {
  return /\r\n/.test(text) && !/[^\r]\n|^\n/.test(text) ? '\r\n' : '\n'
}

export function joined(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

/** Each folder on the way, with its own path. */
export function crumbsOf(path: string): readonly { readonly name: string; readonly path: string }[] {
  const names = path.split('/').filter((name) => name !== '')
  return names.map((name, index) => ({ name, path: names.slice(0, index + 1).join('/') }))
}
