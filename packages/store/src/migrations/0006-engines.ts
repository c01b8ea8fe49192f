import type { Kysely } from 'kysely'

export const name = 'engines'

/** Which engine a project is on, which builds of images its workloads had, and which of them a person chose to stay with. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('projects')
    .addColumn('engine', 'text', (column) => column.notNull().defaultTo('native'))
    .execute()

  await db.schema
    .createTable('workload_images')
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('workload', 'text', (column) => column.notNull())
    .addColumn('reference', 'text', (column) => column.notNull())
    .addColumn('image', 'text', (column) => column.notNull())
    .addColumn('first_used', 'text', (column) => column.notNull())
    .addColumn('last_used', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('workload_images_primary', ['project', 'workload', 'reference', 'image'])
    .execute()

  await db.schema
    .createTable('image_pins')
    .addColumn('project', 'text', (column) => column.notNull().references('projects.id').onDelete('cascade'))
    .addColumn('workload', 'text', (column) => column.notNull())
    .addColumn('reference', 'text', (column) => column.notNull())
    .addColumn('image', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('image_pins_primary', ['project', 'workload', 'reference'])
    .execute()
}
