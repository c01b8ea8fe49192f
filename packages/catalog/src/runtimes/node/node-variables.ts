import type { RuntimeInput } from '../../entry-types.ts'

/** What servers and commands have in common. */
export function nodeVariables(input: RuntimeInput) {
  return {
    // Vite refuses unknown host names; `localhost` and names below it are allowed without this.
    __VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS: hostNames(input).join(','),
    NEXT_TELEMETRY_DISABLED: '1',
    NUXT_TELEMETRY_DISABLED: '1',
    // Keeps development servers from opening a browser on the machine they run on.
    BROWSER: 'none',
  }
}

/** The names under which the two processes are reached through the proxy. */
function hostNames(input: RuntimeInput): readonly string[] {
  const { hostname } = new URL(input.project.url)
  const [label = '', ...base] = hostname.split('.')
  return [hostname, [`${label}-dev`, ...base].join('.')]
}
