import type { RescueResult, RescueUser } from './request.ts'

/** What the person at the terminal reads. */
export function textOf(result: RescueResult): string {
  switch (result.command) {
    case 'users':
      return result.users.length === 0
        ? 'Nobody yet: open the page and make the first administrator.'
        : table(result.users)
    case 'reset-password': {
      const enabled = result.enabled ? `"${result.user}" is enabled again.\n` : ''
      const factors = result.factors.length === 0 ? '' : `Second factors that are gone: ${result.factors.join(', ')}.\n`
      const before = enabled + factors
      return result.link === null
        ? `${before}The new password of "${result.user}" holds. All sessions of that person ended.`
        : `${before}Whoever opens this sets the password of "${result.user}", once, until ${result.link.expiresAt}:\n${result.link.url}`
    }
    case 'end-sessions':
      return `${counted(result.ended, 'session')} ended.`
    case 'revoke-tokens':
      return `${counted(result.ended, 'token')} revoked.`
    default:
      return result satisfies never
  }
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

function table(users: readonly RescueUser[]): string {
  const head = ['USER', 'ROLE', 'STATE', 'SESSIONS', 'TOKENS']
  const rows = [
    head,
    ...users.map((user) => [user.username, roleOf(user), stateOf(user), String(user.sessions), String(user.tokens)]),
  ]
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function roleOf({ role, projects, projectRoles }: RescueUser): string {
  const where = projects.length === 0 ? '' : ` on ${counted(projects.length, 'project')}`
  const own = projectRoles.length === 0 ? '' : `roles on ${counted(projectRoles.length, 'project')}`
  return [role === null ? '' : `${role}${where}`, own].filter((part) => part !== '').join(', ')
}

function stateOf({ disabled, hasPassword }: RescueUser): string {
  return disabled ? 'disabled' : hasPassword ? 'active' : 'no password yet'
}
