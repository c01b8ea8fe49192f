/** Settings of a runtime in a project's record: the contract knows them by their kind, not as fields of their own. */
export function settings(project: object, runtime: string): Readonly<Record<string, unknown>> {
  const found = (project as Readonly<Record<string, unknown>>)[runtime]
  if (typeof found !== 'object' || found === null) throw new Error(`the project has no runtime "${runtime}"`)
  return found as Readonly<Record<string, unknown>>
}
