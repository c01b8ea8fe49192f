import { ProblemError, type ProjectPatch } from '@stackquay/contract'
import type { ProjectSpec } from '@stackquay/domain'
import type { Workers } from '../workers/workers.ts'
import { readProjectFile } from './read-project-file.ts'

export interface ManifestBody {
  readonly patch: ProjectPatch
  /** Secret variables that the file names and the project has no value for. */
  readonly missingSecrets: readonly string[]
}

/** A project file's text as the body of a change of `spec`, or every fault of it with line and column. */
export async function manifestBody(
  workers: Pick<Workers, 'run'>,
  text: string,
  spec: ProjectSpec,
): Promise<ManifestBody> {
  const parsed = await readProjectFile(workers, text)
  if (!parsed.ok) {
    const first = parsed.errors[0]
    const where = first?.line === undefined ? '' : `Line ${first.line}, column ${first.column ?? 1}: `
    throw new ProblemError('manifest_invalid', `${where}${first?.detail ?? 'It cannot be read.'}`, {
      errors: parsed.errors,
    })
  }
  const { patch, secrets } = parsed.manifest
  // Whoever may only look at a plan would otherwise learn from it whether a guess is right.
  const texts = Object.keys(patch.env ?? {}).filter((name) => Object.hasOwn(spec.env, name) && spec.env[name]!.secret)
  if (texts.length > 0) {
    const errors = texts.map((name) => ({
      pointer: `/env/${name}`,
      code: 'secret_in_file',
      detail: `${name} is a secret of the project; write ${name}: {secret: true}. To make it readable, change it in the page, with "stq" or the API.`,
    }))
    throw new ProblemError('manifest_invalid', errors[0]!.detail, { errors })
  }
  // A variable that the file now calls a secret keeps its value; one that is not there needs one from a person.
  const isThere = (name: string) => Object.hasOwn(spec.env, name)
  const kept = secrets.filter(({ name }) => isThere(name))
  const env = {
    ...patch.env,
    ...Object.fromEntries(kept.map(({ name, ...receivers }) => [name, { secret: true, ...receivers }])),
  } as NonNullable<ProjectPatch['env']>
  return {
    patch: Object.keys(env).length === 0 ? patch : { ...patch, env },
    missingSecrets: secrets.map(({ name }) => name).filter((name) => !isThere(name)),
  }
}

/** What to say of secrets that are still to be given. */
export function missingSecretWarnings(names: readonly string[]): readonly string[] {
  return names.map(
    (name) => `The project file names the secret ${name}, which has no value yet. Set it before the project needs it.`,
  )
}
