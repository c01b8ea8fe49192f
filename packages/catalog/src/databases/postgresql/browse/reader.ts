import type { Client } from 'pg'
import { readerName } from '../../../browse/reader-name.ts'
import { quoted } from '../quoted.ts'

/** A role that reads everything and writes nothing. The server holds it to that, whatever the statement is. */
const readerRole = readerName

/** Whether it is there and may do no more than it should. Asked as itself. */
export const readerCheckSql = `SELECT NOT (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication)
  AND (SELECT coalesce(array_agg(g.rolname::text), '{}') = '{pg_read_all_data}' FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid)
  AND NOT EXISTS (SELECT FROM pg_shdepend d WHERE d.refclassid = 'pg_authid'::regclass AND d.refobjid = r.oid AND d.deptype = 'o')
FROM pg_roles r WHERE r.rolname = current_user`

/** Makes it, or makes it what it was. Needs a superuser, which the project’s user is. */
export async function makeReader(owner: Client, password: string): Promise<void> {
  const role = quoted(readerRole)
  // The password stays out of the log of the server.
  await owner.query(
    `SET log_statement = 'none'; SET log_min_duration_statement = -1; SET log_min_error_statement = panic`,
  )
  await owner.query('BEGIN')
  // Two at once would both find none.
  await owner.query(`SELECT pg_advisory_xact_lock(hashtext('${readerRole}'))`)
  const { rows } = await owner.query('SELECT FROM pg_roles WHERE rolname = $1', [readerRole])
  if (rows.length === 0) await owner.query(`CREATE ROLE ${role}`)
  await owner.query(
    `ALTER ROLE ${role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION BYPASSRLS INHERIT PASSWORD '${password}'`,
  )
  await owner.query(`DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT g.rolname FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
      WHERE m.member = '${readerRole}'::regrole AND g.rolname <> 'pg_read_all_data'
    LOOP EXECUTE format('REVOKE %I FROM ${role}', name); END LOOP;
  END $$`)
  await owner.query(`GRANT pg_read_all_data TO ${role}`)
  await owner.query(`REASSIGN OWNED BY ${role} TO CURRENT_USER`)
  await owner.query('COMMIT')
}
