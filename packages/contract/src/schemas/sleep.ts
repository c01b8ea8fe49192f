import { z } from 'zod'

export const SleepSettings = z
  .strictObject({
    after: z.string().max(10).nullable().describe('Sleep when nobody used it for so long: `2h`. From 1m to 30d.'),
    hours: z
      .string()
      .max(200)
      .nullable()
      .describe(
        'Stay awake in these: `mon-fri 08:00-19:00, sat 10:00-14:00`. Outside them it sleeps after `after`, by default 15m.',
      ),
    timezone: z.string().max(60).describe('What `hours` are read by. Default: UTC.'),
  })
  .meta({ id: 'Sleep' })
export const SleepPatch = SleepSettings.partial().meta({ id: 'SleepPatch' })
