import type { DiagnosticCheck } from '@stackquay/contract'
import type { Config } from '../config.ts'
import type { SshState } from '../ssh/server.ts'

export interface SshCheckDeps {
  readonly config: Pick<Config, 'ssh'>
  readonly ssh: () => SshState
}

/** Whether people can log in with SSH. */
export function sshCheck({ config, ssh }: SshCheckDeps): DiagnosticCheck {
  const about = { id: 'ssh', category: 'network', title: 'SSH' } as const
  const state = ssh()
  switch (state.kind) {
    case 'off':
      return { ...about, status: 'info', detail: 'SSH and SFTP are switched off.', hint: null, fix: null }
    case 'listening':
      return { ...about, status: 'ok', detail: `Answers at ${config.ssh?.host}:${state.port}.`, hint: null, fix: null }
    case 'not_listening': {
      const hint = 'Free the port or set STACKQUAY_SSH, then restart the service.'
      return { ...about, status: 'warning', detail: state.reason, hint, fix: null }
    }
    default:
      return state satisfies never
  }
}
