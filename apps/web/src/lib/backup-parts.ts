/** A part that a person can choose. */
export interface PartOption {
  readonly id: string
  readonly label: string
}

interface ServiceOfCatalogue {
  readonly kind: string
  readonly name: string
  readonly label: string
  readonly keepsData: boolean
}

/** Parts that a backup of this project can have, in the order in which the service lists them. */
export function partsOfProject(
  project: Readonly<Record<string, unknown>> & { readonly databases: Readonly<Record<string, unknown>> },
  services: readonly ServiceOfCatalogue[],
  words: { readonly settings: string; readonly files: string },
): readonly PartOption[] {
  const kept = services.filter(({ kind, name, keepsData }) => kind === 'service' && keepsData && name in project)
  return [
    { id: 'settings', label: words.settings },
    { id: 'files', label: words.files },
    ...Object.keys(project.databases).map((name) => ({ id: `database:${name}`, label: name })),
    ...kept.map(({ name, label }) => ({ id: `service:${name}`, label })),
  ]
}

/** Chosen parts for a request; undefined stands for all, and is what the service decides by itself. */
export function chosenParts(options: readonly PartOption[], left: ReadonlySet<string>): readonly string[] | undefined {
  return left.size === 0 ? undefined : options.map(({ id }) => id).filter((id) => !left.has(id))
}
