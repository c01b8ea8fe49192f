/** A project to start from: files beside this list in `<name>/files`, and what the project record begins with. */
export interface Template {
  readonly name: string
  readonly label: string
  readonly summary: string
  /** Runtime that must be available, for the gallery's reason when it is not. */
  readonly runtime: string
  /** Package registry that dependency installation needs: null when the files are all there is. */
  readonly registry: 'npm' | 'pypi' | 'go' | 'rubygems' | 'packagist' | null
  /** Folder of the files, relative to `packages/catalog/src/templates` or, with `examples/`, to the repository. */
  readonly folder: string
  /** The body that `POST /projects` takes besides the name. */
  readonly project: Readonly<Record<string, unknown>>
}
