import { type Kysely, sql } from 'kysely'

export const name = 'audit entries that are too old'

/** Entries may be removed from the beginning on, once the sealed base says so; all others stay as append only as they were. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('drop trigger audit_no_delete').execute(db)
  await sql
    .raw(
      `create trigger audit_no_delete before delete on audit
       when old.seq > coalesce((select json_extract(value, '$.seq') from instance where name = 'audit_base'), 0)
       begin select raise(abort, 'audit is append only'); end`,
    )
    .execute(db)
}
