/**
 * Whether this process opens its ports so that its own user can open them once more (SO_REUSEPORT). Only as root on Linux: an
 * ordinary user is whom its projects run as too, and they could join.
 */
export function sharesPorts(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0
}
