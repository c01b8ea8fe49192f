import type { Config } from '../config.ts'
import type { ProjectNetwork } from '../network/network.ts'
import { projectPass } from '../service-pages/hop-access.ts'
import type { PagePasses } from '../service-pages/passes.ts'

export interface SignInParts {
  readonly config: Pick<Config, 'publicUrl'>
  readonly passes: Pick<PagePasses, 'of' | 'cookie'>
}

export function signInWith({ config, passes }: SignInParts) {
  return { url: `${config.publicUrl}/enter`, cookie: passes.cookie }
}

/** Where the rules ask for a sign-in. A share is an opening that somebody made on purpose, and is behind its own link. */
export function signInOf(project: string, rules: ProjectNetwork['rules'], parts: SignInParts) {
  if (rules?.rules.signIn !== true) return {}
  return { signIn: { ...signInWith(parts), passes: parts.passes.of(project, projectPass) } }
}
