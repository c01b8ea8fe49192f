import { ProblemError, type ProjectPatch } from '@stackquay/contract'
import { type ProjectSpec, parseManifest } from '@stackquay/domain'

export interface ManifestBody {
  readonly patch: ProjectPatch
  /** Secret variables that the file names and the project has no value for. */
  readonly missingSecrets: readonly string[]
}

/** A project file's text as the body of a change of `spec`, or every fault of it with line and column. */
export function manifestBody(text: string, spec: ProjectSpec): ManifestBody {
  const parsed = parseManifest(text)
  if (!parsed.ok) {
    const first = parsed.errors[0]
    const where = first?.line === undefined ? '' : `Line ${first.line}, column ${first.column ?? 1}: `
    throw new ProblemError('manifest_invalid', `${where}${first?.detail ?? 'It cannot be read.'}`, {
      errors: parsed.errors,
    })
  }
  const { patch, secrets } = parsed.manifest
  // A variable that the file now calls a secret keeps its value; one that is not there needs one from a person.
  const kept = secrets.filter((name) => spec.env[name] !== undefined)
  const env = { ...patch.env, ...Object.fromEntries(kept.map((name) => [name, { secret: true }])) }
  return {
    patch: Object.keys(env).length === 0 ? patch : { ...patch, env },
    missingSecrets: secrets.filter((name) => spec.env[name] === undefined),
  }
}

/** What to say of secrets that are still to be given. */
export function missingSecretWarnings(names: readonly string[]): readonly string[] {
  return names.map(
    (name) => `The project file names the secret ${name}, which has no value yet. Set it before the project needs it.`,
  )
}
