import type { KeyDriver } from '../browse/key-driver.ts'

/** How the browser speaks to a service of keys, by its kind. */
export const keyDrivers: Readonly<Record<string, () => Promise<{ readonly driver: KeyDriver }>>> = {
  redis: () => import('./redis/browse.ts'),
}
