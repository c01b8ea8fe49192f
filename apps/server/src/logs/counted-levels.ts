/** What lines are counted by: those without a level are told, too. */
export const countedLevels = ['error', 'warning', 'info', 'debug', 'none'] as const
export type CountedLevel = (typeof countedLevels)[number]
