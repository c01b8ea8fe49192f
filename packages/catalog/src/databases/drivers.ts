import type { SqlDriver } from '../browse/driver.ts'

/** How the browser speaks to a database, by its kind. Loaded by who asks: libraries come with it. */
export const sqlDrivers: Readonly<Record<string, () => Promise<{ readonly driver: SqlDriver }>>> = {
  postgresql: () => import('./postgresql/browse/driver.ts'),
  mariadb: () => import('../browse/mysql-family/driver.ts'),
  mysql: () => import('../browse/mysql-family/driver.ts'),
}
